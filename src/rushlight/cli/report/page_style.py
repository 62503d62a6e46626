"""The look of the pages: one style for report.html, `rushlight view` and `rushlight serve`, in light and in dark."""

STYLE = """
:root { --paper:#fbfaf8; --card:#fff; --ink:#23211e; --soft:#6d6a64; --rule:#e6e2da; --one:#0f766e; --two:#d97706;
  --three:#6366f1; --four:#be123c; --bad:#c2410c; --good:#0f766e; --shade:15,118,110; --shade-bad:194,65,12; }
@media (prefers-color-scheme: dark) { :root { --paper:#171614; --card:#211f1c; --ink:#eeeae2; --soft:#a09b92;
  --rule:#37342f; --one:#2dd4bf; --two:#fbbf24; --three:#a5b4fc; --four:#fb7185; --bad:#fb923c; --good:#2dd4bf; --shade:45,212,191;
  --shade-bad:251,146,60; } }
* { box-sizing: border-box; }
body { margin:0; background:var(--paper); color:var(--ink); font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
  "Helvetica Neue",Arial,sans-serif; }
main { max-width:1080px; margin:0 auto; padding:34px 22px 70px; }
header { border-bottom:3px solid var(--one); padding-bottom:16px; margin-bottom:22px; }
h1 { font-size:28px; line-height:1.2; margin:0 0 4px; letter-spacing:-.01em; }
h2 { font-size:19px; margin:38px 0 4px; letter-spacing:-.01em; }
h3 { font-size:14px; margin:0 0 8px; color:var(--soft); font-weight:600; }
p { margin:4px 0 12px; max-width:72ch; } a { color:var(--one); }
.faint, header p { color:var(--soft); }
.numbers { display:grid; grid-template-columns:repeat(auto-fit,minmax(150px,1fr)); gap:12px; margin:20px 0 8px; }
.number { background:var(--card); border:1px solid var(--rule); border-radius:10px; padding:13px 15px; }
.number b { display:block; font-size:25px; line-height:1.15; font-weight:650; font-variant-numeric:tabular-nums; }
.number span { display:block; color:var(--soft); font-size:13px; line-height:1.35; margin-top:2px; }
.number small { display:block; color:var(--soft); font-size:12px; line-height:1.35; margin-top:5px; }
.number.main { border-color:var(--one); } .number.main b { color:var(--one); }
.warning { border-left:4px solid var(--bad); background:var(--card); padding:12px 16px; border-radius:6px; }
.grid-2 { display:grid; grid-template-columns:repeat(auto-fit,minmax(min(420px,100%),1fr)); gap:16px; }
.grid-3 { display:grid; grid-template-columns:repeat(auto-fit,minmax(min(300px,100%),1fr)); gap:16px; }
.card { background:var(--card); border:1px solid var(--rule); border-radius:10px; padding:16px; min-width:0; overflow:auto; }
svg { display:block; width:100%; height:auto; } svg text { fill:var(--soft); font-size:12px; font-family:inherit; }
.grid { stroke:var(--rule); } .axis { font-size:12px; } .mark { stroke:var(--soft); stroke-dasharray:3 4; }
.line { fill:none; stroke-width:2.2; stroke-linejoin:round; } .line.one { stroke:var(--one); } .line.two { stroke:var(--two); }
.line.three { stroke:var(--three); } .line.four { stroke:var(--four); } .dotted { stroke-dasharray:2 4; } .faint-line { stroke:var(--soft); stroke-dasharray:4 5; stroke-width:1.3; fill:none; }
.dot.faint-line { display:none; } .dot.one { fill:var(--one); } .dot.two { fill:var(--two); } .dot.three { fill:var(--three); } .dot.four { fill:var(--four); }
.bubble { fill:rgba(var(--shade),.45); stroke:var(--one); }
.legend { display:flex; flex-wrap:wrap; gap:4px 18px; color:var(--soft); font-size:13px; margin-top:8px; }
.key { display:inline-block; width:11px; height:11px; border-radius:3px; margin-right:6px; vertical-align:-1px; }
.key.one { background:var(--one); } .key.two { background:var(--two); } .key.three { background:var(--three); } .key.four { background:var(--four); }
.matrix { margin:0 auto; } .cell.right { fill:rgba(var(--shade),calc(.06 + .94*var(--s))); }
.cell.wrong { fill:rgba(var(--shade-bad),calc(.05 + .95*var(--s))); } svg .count { fill:var(--ink); font-size:13px; }
svg .count.strong { fill:var(--card); font-weight:600; }
.bars { display:grid; grid-template-columns:minmax(70px,max-content) 1fr max-content; gap:7px 12px; align-items:center; font-size:13px; }
.bar-name { text-align:right; } .bar-value { color:var(--soft); font-variant-numeric:tabular-nums; }
.bar { background:color-mix(in srgb,var(--rule) 55%,transparent); border-radius:3px; height:9px; margin:2px 0; overflow:hidden; }
.bar i { display:block; height:100%; border-radius:3px; } .bar i.one { background:var(--one); } .bar i.two { background:var(--two); }
.bar i.three { background:var(--three); }
.pictures { display:grid; grid-template-columns:repeat(auto-fill,minmax(118px,1fr)); gap:12px; }
figure { margin:0; background:var(--card); border:1px solid var(--rule); border-radius:8px; overflow:hidden; font-size:12.5px; }
figure img { display:block; width:100%; aspect-ratio:1; object-fit:cover; image-rendering:auto; background:var(--rule); }
figure img.small { image-rendering:pixelated; } figcaption { padding:6px 9px 8px; line-height:1.35; overflow-wrap:anywhere; }
figcaption b { font-weight:600; } .wrong-text { color:var(--bad); } .right-text { color:var(--good); }
table { border-collapse:collapse; width:100%; font-size:13px; } th { text-align:left; color:var(--soft); font-weight:600; }
th,td { padding:5px 10px 5px 0; border-bottom:1px solid var(--rule); vertical-align:top; } .n { text-align:right; font-variant-numeric:tabular-nums; }
tr.total td { border-bottom:0; font-weight:650; } .scroll { max-height:380px; overflow:auto; }
code,pre { font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace; } pre { background:var(--card);
  border:1px solid var(--rule); border-radius:8px; padding:12px 14px; overflow:auto; white-space:pre-wrap; overflow-wrap:anywhere; }
.block.input { fill:var(--soft); background:var(--soft); } .block.conv { fill:var(--one); background:var(--one); }
.block.pool { fill:var(--two); background:var(--two); } .block.linear { fill:var(--three); background:var(--three); }
.block.other { fill:var(--bad); background:var(--bad); }
details > summary { cursor:pointer; color:var(--soft); margin:6px 0; }
@media print { .scroll { max-height:none; } }
"""


def page(title: str, body: str, more: str = "") -> str:
    """A whole HTML document that needs nothing from elsewhere; `more` goes into its head."""
    from html import escape

    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        "<meta name='color-scheme' content='light dark'>"
        "<link rel='icon' href='data:,'>"
        f"<title>{escape(title)}</title><style>{STYLE}</style>{more}</head>\n<body><main>{body}</main></body></html>\n"
    )
