// The theme button, copy buttons and the search. Nothing is asked of any server; texts never become markup.
"use strict";
(() => {
  // ---- theme: before anything is painted ----
  const root = document.documentElement;
  const kept = () => { try { return localStorage.getItem("minidynamo-theme"); } catch { return null; } };
  const keep = (theme) => { try { localStorage.setItem("minidynamo-theme", theme); } catch { /* then it lasts for this page */ } };
  if (["light", "dark"].includes(kept())) root.dataset.theme = kept();

  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

  function themeButton() {
    const button = document.createElement("button");
    button.type = "button";
    button.id = "theme";
    const name = () => { button.textContent = isDark() ? "Light" : "Dark"; button.setAttribute("aria-label", `${button.textContent} theme`); };
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      keep(root.dataset.theme);
      name();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
    name();
    document.querySelector(".top nav").append(button);
  }

  function copyButtons() {
    for (const block of document.querySelectorAll(".program")) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Copy";
      button.addEventListener("click", async () => {
        const text = block.querySelector("code").textContent;
        try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; }
        catch { button.textContent = "Not allowed"; }
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      });
      block.append(button);
    }
  }

  // ---- search: as registry/search.py ranks, from the same words ----
  const NAME = /[A-Za-z_][A-Za-z0-9_]*/g;

  function stem(word) {
    for (const ending of ["ing", "ed", "es", "s"])
      if (word.endsWith(ending) && word.length - ending.length >= 4) return word.slice(0, -ending.length);
    return word;
  }

  function stemsOf(text) {
    const found = new Set();
    for (const name of text.toLowerCase().match(NAME) || [])
      for (const part of [name, ...name.split("_")]) if (part) found.add(stem(part));
    return found;
  }

  // Letters that must be changed, left out, put in or that changed places, up to one: 0, 1, or 2 for more.
  function mistakes(a, b) {
    if (a === b) return 0;
    if (Math.abs(a.length - b.length) > 1) return 2;
    let from = 0, end = 0;
    while (from < Math.min(a.length, b.length) && a[from] === b[from]) from++;
    while (end < Math.min(a.length, b.length) - from && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
    const one = a.slice(from, a.length - end), other = b.slice(from, b.length - end);
    if (one.length <= 1 && other.length <= 1) return 1;
    return one.length === 2 && other.length === 2 && one[0] === other[1] && one[1] === other[0] ? 1 : 2;
  }

  // The length of the longest common subsequence.
  function common(a, b) {
    let row = new Uint16Array(b.length + 1);
    for (let i = 0; i < a.length; i++) {
      let diagonal = 0;
      for (let j = 1; j <= b.length; j++) {
        const above = row[j];
        row[j] = a[i] === b[j - 1] ? diagonal + 1 : Math.max(above, row[j - 1]);
        diagonal = above;
      }
    }
    return row[b.length];
  }

  // Which letters a word has, as bits; a letter that one has and the other lacks can be no common one.
  function letters(word) {
    let bits = 0;
    for (let i = 0; i < word.length; i++) bits |= 1 << (word.charCodeAt(i) % 32);
    return bits;
  }
  function count(bits) {
    let found = 0;
    for (; bits; bits &= bits - 1) found++;
    return found;
  }

  class Search {
    constructor(data) {
      this.data = data;
      this.place = new Map(data.stems.map((word, at) => [word, at]));
      this.letters = data.stems.map(letters);
      this.hits = data.stems.map(() => []); // [row, weight] of each stem
      data.rows.forEach(([, ...fields], row) => {
        const best = new Map();
        fields.forEach((field, at) => { for (const word of field) if (!best.has(word)) best.set(word, data.weights[at]); });
        for (const [word, weight] of best) this.hits[word].push([row, weight]);
      });
      this.titles = data.rows.map((row) => new Set(row[2]));
      this.noise = new Set(data.noise);
      this.known = new Map();
      this.code = new RegExp(data.code, "gi");
      this.codes = new Set(data.rows.map((row) => row[0]));
    }

    // The stem a mistyped word most likely is, and how much it counts; null: none.
    meant(word) {
      if (this.known.has(word)) return this.known.get(word);
      const found = word.length <= 5 ? this.nearShort(word) : this.nearLong(word);
      if (this.known.size > 5000) this.known.clear();
      this.known.set(word, found);
      return found;
    }

    nearShort(word) {
      let near = null;
      for (const known of this.data.stems) {
        if (mistakes(word, known) > 1) continue;
        if (known[0] === word[0]) return [known, 0.9];
        near = near || [known, 0.9];
      }
      return near;
    }

    nearLong(word) {
      let best = 0, near = null;
      const own = letters(word), least = this.data.alike / 100;
      this.data.stems.forEach((known, at) => {
        const both = word.length + known.length;
        if (2 * Math.min(word.length, known.length) / both < Math.max(best, least)) return;
        const lost = Math.max(count(own & ~this.letters[at]), 0), missing = count(this.letters[at] & ~own);
        if ((both - lost - missing) / both < Math.max(best, least)) return;
        const alike = 2 * common(word, known) / both;
        if (alike >= least && alike > best) { best = alike; near = [known, alike]; }
      });
      return near;
    }

    // The keyword a line of code begins with: what follows must not be words as in a sentence.
    keyword(text) {
      const line = text.trim(), first = (line.match(/^[a-z]+/) || [""])[0];
      if (/^from\s+[\w.]+\s+import\s+[\w*(]/.test(line)) return "import";
      if (!this.data.keywords.includes(first)) return "";
      const rest = line.slice(first.length);
      if (!/^[\s(:]/.test(rest) || !/\w/.test(rest)) return "";
      const joins = new Set("and or not in is if else for lambda await as from import".split(" "));
      const words = rest.replace(/"[^"]*"|'[^']*'/g, "0").match(/[A-Za-z_][\w.]*|\d[\w.]*|\s+|./g) || [];
      let last = "";
      for (const word of words) {
        if (!word.trim()) continue;
        const isWord = /^\w/.test(word);
        if (isWord && last && /[\w)\]]$/.test(last) && !joins.has(word) && !joins.has(last)) return "";
        last = word;
      }
      if (joins.has(last) || /[-+*/<>=.,!&|^~%@]$/.test(last)) return "";
      return first;
    }

    wanted(text) {
      const weights = new Map();
      for (const word of stemsOf(text)) {
        if (this.noise.has(word) || word.length < 2) continue;
        if (this.place.has(word)) { weights.set(word, 1); continue; }
        const near = this.meant(word);
        if (near) weights.set(near[0], Math.max(weights.get(near[0]) || 0, near[1]));
      }
      const keyword = this.keyword(text);
      if (keyword) weights.set(keyword, this.data.statement);
      return weights;
    }

    named(text) {
      const words = text.split(/[\s,]+/).filter(Boolean);
      const found = words.length && words.every((word) => /^(GB)?\d{1,4}$/i.test(word))
        ? words.map((word) => word.replace(/^GB/i, "")) : Array.from(text.matchAll(this.code), (match) => match[1]);
      return [...new Set(found.map((number) => `GB${number.padStart(4, "0")}`))].filter((code) => this.codes.has(code));
    }

    find(query) {
      const text = query.slice(0, this.data.longest).trim();
      const named = this.named(text);
      if (named.length) return named;
      const wanted = this.wanted(text), scores = new Map();
      for (const [word, counts] of wanted) {
        if (!this.place.has(word)) continue;
        const hits = this.hits[this.place.get(word)];
        for (const [row, weight] of hits)
          scores.set(row, (scores.get(row) || 0) + counts * weight * Math.log(1 + this.data.rows.length / hits.length));
      }
      const ranked = [...scores].map(([row, score]) => {
        let titled = 0;
        for (const word of wanted.keys()) if (this.titles[row].has(this.place.get(word))) titled++;
        return [Math.round(1e9 * score * (1 + titled / this.titles[row].size)), row];
      });
      ranked.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
      const title = text.toLowerCase(), titled = Object.hasOwn(this.data.titles, title) ? this.data.titles[title] : "";
      return [...new Set([...(titled ? [titled] : []), ...ranked.map(([, row]) => this.data.rows[row][0])])];
    }
  }

  function searchPage() {
    const form = document.getElementById("search");
    if (!form || !window.minidynamoIndex) return;
    const search = new Search(window.minidynamoIndex);
    window.minidynamoSearch = (text) => search.find(text); // for tests, and for whoever looks at the page
    const [words, all, found, told] = ["words", "all", "found", "count"].map((id) => document.getElementById(id));
    const choices = ["area", "kind", "status"].map((id) => document.getElementById(id));
    const items = new Map(Array.from(all.querySelectorAll("li[data-code]"), (item) => [item.dataset.code, item]));
    const most = window.minidynamoIndex.longest, listed = 50; // characters read, and codes shown of those found
    const fits = (item) => choices.every((choice) => !choice.value || item.dataset[choice.id] === choice.value);

    function say(shown, of) {
      told.textContent = of > shown ? `The best ${shown} of ${of} codes` : shown === 1 ? "1 code" : shown ? `${shown} codes` : "No code matches";
    }

    function show() {
      const start = performance.now();
      if (words.value.length > most) words.value = words.value.slice(0, most); // a browser is slow to show a long line
      const text = words.value.trim();
      found.replaceChildren();
      found.hidden = !text;
      all.hidden = !!text;
      if (text) {
        const codes = search.find(text).map((code) => items.get(code)).filter(fits);
        found.append(...codes.slice(0, listed).map((item) => item.cloneNode(true)));
        say(Math.min(codes.length, listed), codes.length);
      } else {
        let shown = 0;
        for (const item of items.values()) { item.hidden = !fits(item); shown += !item.hidden; }
        for (const area of all.querySelectorAll(".area")) area.hidden = !area.querySelector("li:not([hidden])");
        all.querySelector(".areas").hidden = shown < items.size;
        say(shown, shown);
      }
      remember(text);
      root.dataset.searched = (performance.now() - start).toFixed(2);
    }

    // The address keeps what is looked for: going back from a code finds it again.
    function remember(text) {
      const state = new URLSearchParams();
      if (text && text.length < 500) state.set("q", text);
      for (const choice of choices) if (choice.value) state.set(choice.id, choice.value);
      const hash = state.toString();
      try { if (hash || location.hash.includes("=")) history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search); }
      catch { /* not from here: then it is not kept */ }
    }
    function recall() {
      if (!location.hash.includes("=")) return;
      const state = new URLSearchParams(location.hash.slice(1));
      words.value = state.get("q") || "";
      for (const choice of choices) choice.value = Array.from(choice.options).some((option) => option.value === state.get(choice.id)) ? state.get(choice.id) : "";
    }

    const links = () => Array.from((found.hidden ? all : found).querySelectorAll("li:not([hidden]) > a")).filter((link) => link.offsetParent);
    function move(event) {
      const active = document.activeElement, within = active === words || active.closest?.(".codes");
      if (!within || event.ctrlKey || event.altKey || event.metaKey) return;
      const shown = links(), at = shown.indexOf(active);
      const to = event.key === "ArrowDown" ? shown[at + 1] : at > 0 ? shown[at - 1] : words;
      if (to) { to.focus(); event.preventDefault(); }
    }
    document.addEventListener("keydown", (event) => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName || "");
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) { words.focus(); words.select(); event.preventDefault(); }
      else if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event);
      else if (event.key === "Escape" && (document.activeElement === words || document.activeElement?.closest?.(".codes"))) {
        words.value = "";
        show();
        words.focus();
        event.preventDefault();
      }
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const first = words.value.trim() && links()[0];
      if (first) first.click();
    });
    words.addEventListener("input", show);
    for (const choice of choices) choice.addEventListener("change", show);
    window.addEventListener("hashchange", () => { if (location.hash.includes("=")) { recall(); show(); } });
    form.hidden = false;
    recall();
    show();
  }

  document.addEventListener("DOMContentLoaded", () => {
    themeButton();
    copyButtons();
    searchPage();
    for (const list of document.querySelectorAll(".chapters details")) if (matchMedia("(max-width: 56rem)").matches) list.open = false;
  });
})();
