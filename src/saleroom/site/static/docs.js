// The API's viewer. Requests made in it pass the forgery filter as an API client's do: by X-Requested-With.
const place = document.getElementById("main");
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

// Corrections for screen readers: a link within a button, a choice of one server, a heading level left out, text
// outside every landmark, an editor without a name.
const readable = ({ React }) => ({
  components: { DeepLink: ({ text }) => text, ServersContainer: () => null },
  wrapComponents: {
    operations: (Operations) => (props) => React.createElement(
      React.Fragment,
      null,
      React.createElement("h2", { className: "unseen" }, "Operations"),
      React.createElement(Operations, props),
    ),
    InfoContainer: (Info) => (props) => React.createElement(
      "section",
      { "aria-label": "About this API" },
      React.createElement(Info, props),
    ),
    TextArea: (TextArea) => (props) => React.createElement(TextArea, { "aria-label": "Request body", ...props }),
  },
});

place.className = "";
SwaggerUIBundle({
  domNode: place,
  url: place.dataset.document,
  plugins: [readable],
  deepLinking: true,
  // With more than 140 operations open at once, Swagger UI shows a few of them and says nothing.
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  validatorUrl: null,
  requestInterceptor: (request) => {
    request.headers["X-Requested-With"] = "saleroom docs";
    return request;
  },
});
