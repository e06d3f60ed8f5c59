// Theme switch and live updates. Without this script the pages are the same, but static.
(() => {
  "use strict";
  const INTERVAL = 2000;
  const root = document.documentElement;
  const storage = { get: (key) => { try { return localStorage.getItem(key); } catch { return null; } },
                 set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* storage is disabled */ } } };
  const chosen = storage.get("belated-theme");
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;

  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark"
                                          : matchMedia("(prefers-color-scheme: dark)").matches;

  function setUpTheme() {
    const button = document.getElementById("theme");
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      storage.set("belated-theme", root.dataset.theme);
    });
  }

  // A part with keyboard focus or selected text is not replaced until the user is done.
  function inUse(part) {
    const active = document.activeElement;
    if (active && active !== part && part.contains(active) && !active.classList.contains("scroll")) return true;
    const selection = getSelection();
    return selection && !selection.isCollapsed && part.contains(selection.anchorNode);
  }

  function replace(part, fresh) {
    const inner = fresh.innerHTML;
    if (part.dataset.shown === inner || part.innerHTML === inner || inUse(part)) return;
    const last = Math.max(0, ...[...part.querySelectorAll("[data-seq]")].map((row) => Number(row.dataset.seq)));
    const scrolled = [...part.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
    const focused = [...part.querySelectorAll(".scroll")].indexOf(document.activeElement);
    part.replaceChildren(...document.importNode(fresh, true).childNodes);
    part.dataset.shown = inner;
    part.querySelectorAll(".scroll").forEach((each, index) => {
      each.scrollLeft = scrolled[index] || 0;
      if (index === focused) each.focus({ preventScroll: true });
    });
    if (last) {
      part.querySelectorAll("[data-seq]").forEach((row) => row.classList.toggle("new", Number(row.dataset.seq) > last));
    }
  }

  // The user is on the way to another page, such as by logging out: a reload would cancel that.
  let leaving = false;
  addEventListener("beforeunload", () => { leaving = true; });
  addEventListener("pageshow", () => { leaving = false; });

  async function refresh() {
    const response = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
    if (leaving) return;
    if (response.redirected) { location.reload(); return; }
    if (!response.ok) throw new Error(String(response.status));
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const fresh = page.getElementById(part.id);
      if (fresh) replace(part, fresh);
    }
  }

  function setUpLive() {
    const state = document.getElementById("state");
    const pause = document.getElementById("pause");
    if (!state) return;
    let paused = false;
    state.hidden = pause.hidden = false;
    const show = (kind, text) => {
      if (state.textContent !== text) { state.textContent = text; state.className = `state ${kind}`; }
    };
    show("live", "live");
    pause.addEventListener("click", () => {
      paused = !paused;
      pause.setAttribute("aria-pressed", String(paused));
      pause.textContent = paused ? "Resume" : "Pause";
      show(paused ? "paused" : "live", paused ? "paused" : "live");
    });
    const poll = async () => {
      if (!paused && !document.hidden) {
        try {
          await refresh();
          if (!paused) show("live", "live");
        } catch {
          show("lost", "connection lost; retrying");
        }
      }
      setTimeout(poll, INTERVAL);
    };
    setTimeout(poll, INTERVAL);
  }

  addEventListener("DOMContentLoaded", () => { setUpTheme(); setUpLive(); });
})();
