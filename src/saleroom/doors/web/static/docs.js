// The API's viewer. Requests made in it pass the forgery filter as an API client's do: by X-Requested-With.
const place = document.getElementById("api");
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

SwaggerUIBundle({
  domNode: place,
  url: place.dataset.document,
  deepLinking: true,
  displayRequestDuration: true,
  validatorUrl: null,
  requestInterceptor: (request) => {
    request.headers["X-Requested-With"] = "saleroom docs";
    return request;
  },
});
