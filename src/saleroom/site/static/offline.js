// The offline page shows the page that was asked for as soon as there is a connection again.
addEventListener("online", () => location.reload());
