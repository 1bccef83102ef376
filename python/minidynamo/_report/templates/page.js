"use strict";
(() => {
  const root = document.documentElement, theme = document.getElementById("theme");
  const stored = { get() { try { return localStorage.getItem("theme"); } catch { return null; } },
                   set(value) { try { localStorage.setItem("theme", value); } catch { /* it is forgotten */ } } };
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  const known = stored.get();
  if (known === "dark" || known === "light") root.dataset.theme = known;
  theme.hidden = false;
  label();
  theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; stored.set(root.dataset.theme); label(); });

  const lanes = document.getElementById("lanes"), tools = document.getElementById("timeline-tools");
  if (lanes) {
    let zoom = 1;
    const frame = lanes.parentElement;
    tools.hidden = false;
    const show = (next) => {
      const middle = (frame.scrollLeft + frame.clientWidth / 2) / (lanes.clientWidth || 1);
      zoom = Math.min(Math.max(next, 1), 256);
      lanes.style.width = `${zoom * 100}%`;
      frame.scrollLeft = middle * lanes.clientWidth - frame.clientWidth / 2;
    };
    tools.addEventListener("click", (event) => {
      const by = event.target.dataset.zoom;
      if (by !== undefined) show(Number(by) ? zoom * Number(by) : 1);
    });
    frame.addEventListener("keydown", (event) => {
      if (event.key === "+" || event.key === "=") show(zoom * 2);
      if (event.key === "-") show(zoom / 2);
    });
    document.getElementById("save-trace").addEventListener("click", () => {
      const text = document.getElementById("trace").textContent;
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      link.download = "minidynamo-timeline.json";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
  }

  // A link into something that is folded away unfolds it; on paper everything stands there.
  const unfold = () => {
    const at = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let each = at && at.closest("details"); each; each = each.parentElement.closest("details")) each.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
  addEventListener("beforeprint", () => { for (const each of document.querySelectorAll("details")) each.open = true; });
})();
