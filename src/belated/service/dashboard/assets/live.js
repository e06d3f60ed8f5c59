// Light or dark, and pages that keep themselves up to date. Without this script they are the same, but stand still.
(() => {
  "use strict";
  const EVERY = 2000;
  const root = document.documentElement;
  const kept = { get: (key) => { try { return localStorage.getItem(key); } catch { return null; } },
                 set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* not allowed: forget it */ } } };
  const chosen = kept.get("belated-theme");
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;

  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark"
                                          : matchMedia("(prefers-color-scheme: dark)").matches;

  function setUpTheme() {
    const button = document.getElementById("theme");
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      kept.set("belated-theme", root.dataset.theme);
    });
  }

  // A part that somebody is reading with the keyboard, or has marked, is left alone until they are done.
  function inUse(part) {
    const active = document.activeElement;
    if (active && active !== part && part.contains(active) && !active.classList.contains("scroll")) return true;
    const marked = getSelection();
    return marked && !marked.isCollapsed && part.contains(marked.anchorNode);
  }

  function replace(part, fresh) {
    const inner = fresh.innerHTML;
    if (part.dataset.shown === inner || part.innerHTML === inner || inUse(part)) return;
    const last = Math.max(0, ...[...part.querySelectorAll("[data-seq]")].map((row) => Number(row.dataset.seq)));
    const scrolled = [...part.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
    const focused = [...part.querySelectorAll(".scroll")].indexOf(document.activeElement);
    part.replaceChildren(...document.importNode(fresh, true).childNodes);
    part.dataset.shown = inner;
    part.querySelectorAll(".scroll").forEach((each, place) => {
      each.scrollLeft = scrolled[place] || 0;
      if (place === focused) each.focus({ preventScroll: true });
    });
    if (last) {
      part.querySelectorAll("[data-seq]").forEach((row) => row.classList.toggle("new", Number(row.dataset.seq) > last));
    }
  }

  async function refresh() {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
    if (answer.redirected) { location.reload(); return; }
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
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
    const tell = (kind, text) => {
      if (state.textContent !== text) { state.textContent = text; state.className = `state ${kind}`; }
    };
    tell("live", "live");
    pause.addEventListener("click", () => {
      paused = !paused;
      pause.setAttribute("aria-pressed", String(paused));
      pause.textContent = paused ? "Go on" : "Pause";
      tell(paused ? "paused" : "live", paused ? "paused" : "live");
    });
    const again = async () => {
      if (!paused && !document.hidden) {
        try {
          await refresh();
          if (!paused) tell("live", "live");
        } catch {
          tell("lost", "no contact; trying again");
        }
      }
      setTimeout(again, EVERY);
    };
    setTimeout(again, EVERY);
  }

  addEventListener("DOMContentLoaded", () => { setUpTheme(); setUpLive(); });
})();
