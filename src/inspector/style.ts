/** Colours meet WCAG AA on their backgrounds, in light and in dark. */
export const style = `
:host {
  --ink: #1b1f24; --paper: #fff; --faint: #57606a; --line: #d0d7de; --hover: #f3f5f7; --accent: #0757ba;
  --good: #116329; --bad: #a40e26; --wait: #7d4e00;
  display: block; color: var(--ink); background: var(--paper); font: 14px/1.5 system-ui, sans-serif;
  color-scheme: light dark;
}
@media (prefers-color-scheme: dark) {
  :host {
    --ink: #e6edf3; --paper: #0d1117; --faint: #9198a1; --line: #3d444d; --hover: #1b222b; --accent: #78b7ff;
    --good: #5fd07a; --bad: #ff9b94; --wait: #e3b341;
  }
}
* { box-sizing: border-box; }
section, dialog { padding: 1rem; }
h2 { font-size: 1.15rem; margin: 0; }
h3, h4 { font-size: 1rem; margin: 0; }
h3 { font-weight: 400; }
h4 { margin-block: .75rem .25rem; }
fieldset { border: 0; padding: 0; margin: .5rem 0; display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
legend { float: left; margin-inline-end: 1rem; color: var(--faint); }
ul.operations { list-style: none; margin: 0; padding: 0; border-block-start: 1px solid var(--line); }
ul.operations > li { border-block-end: 1px solid var(--line); }
.row { all: unset; box-sizing: border-box; display: flex; flex-wrap: wrap; gap: .25rem 1rem; width: 100%; padding: .5rem; cursor: pointer; }
.row:hover { background: var(--hover); }
.row .what { flex: 1; overflow-wrap: anywhere; font-weight: 600; }
.row time, .row .tries { color: var(--faint); }
.state { font-weight: 600; min-width: 6.5rem; color: var(--faint); }
.state.succeeded { color: var(--good); }
.state.unresolved, .state.rejected, .state.misused { color: var(--bad); }
.state.blocked, .state.pending { color: var(--wait); }
.detail { padding: .25rem .5rem 1rem 1.5rem; }
dl { margin: 0; }
dl > div { display: flex; flex-wrap: wrap; gap: 0 .75rem; }
dt { min-width: 11rem; color: var(--faint); }
dd { margin: 0; overflow-wrap: anywhere; }
ol.timeline { margin: 0; padding-inline-start: 1.5rem; border-inline-start: 2px solid var(--line); }
pre { margin: .25rem 0; padding: .5rem; max-height: 16rem; overflow: auto; background: var(--hover); white-space: pre-wrap; }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; margin: .75rem 0 0; }
.actions button { font: inherit; color: var(--accent); background: var(--paper); border: 1px solid currentColor; border-radius: 6px; padding: .25rem .75rem; cursor: pointer; }
.actions button:hover { background: var(--hover); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
[role="alert"]:not(:empty) { color: var(--bad); font-weight: 600; margin: .5rem 0 0; }
.note { color: var(--faint); }
dialog { color: var(--ink); background: var(--paper); border: 1px solid var(--line); border-radius: 8px; max-width: 32rem; }
dialog::backdrop { background: rgb(0 0 0 / .5); }
dialog label { display: block; margin-block-end: .4rem; font-weight: 600; }
dialog textarea { width: 100%; font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--faint); border-radius: 6px; padding: .5rem; }
`;
