#!/usr/bin/env python3
"""Opens every kind of page in headless Chromium: in_browser.py BIN SOURCE FOLDER.

Wide and light, narrow and dark: no error on the console, nothing asked of the network, something drawn on every canvas,
no page wider than a phone. Pictures of the pages stay in FOLDER. Exit codes: 0; 1; 77 without Chromium.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import pages as programs_pages  # noqa: E402

# What the page looks like from within, told in its title.
PROBE = """<script>addEventListener('load', () => {
  const drawn = (canvas) => {
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size > 2;
  };
  // Every choice of every study once; what stays is drawn below.
  const selects = () => [...document.querySelectorAll('.choices select')];
  const count = selects().length;
  for (let i = 0; i < count; ++i) {
    for (let option = selects()[i].options.length - 1; option >= 0; --option) {
      selects()[i].selectedIndex = option;
      selects()[i].dispatchEvent(new Event('change'));
    }
  }
  const all = [...document.querySelectorAll('canvas')];
  document.title = `canvases ${all.length} drawn ${all.filter(drawn).length} keys ` +
    `${document.querySelectorAll('.keys button').length} saves ${document.querySelectorAll('button').length} ` +
    `choices ${count} ` +
    `wider ${document.documentElement.scrollWidth - innerWidth}`;
  const key = document.querySelector('.keys button');
  if (key) { key.click(); key.focus(); }
});</script>"""
LOOKS = {"wide": ["--window-size=1200,2400"],
         "phone": ["--window-size=500,2400", "--blink-settings=preferredColorScheme=0"]}


def browse(chromium, page, *arguments):
    command = [chromium, "--headless", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
               "--virtual-time-budget=10000", "--disable-background-networking",
               f"--user-data-dir={page.parent / 'profile'}", *arguments, page.as_uri()]
    if os.geteuid() == 0:
        command.insert(1, "--no-sandbox")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, console


def faults_in_browser(chromium, page, looks):
    probed = page.with_suffix(".probed.html")
    probed.write_text(page.read_text().replace("</main>", f"{PROBE}</main>"))
    text, console = browse(chromium, probed, "--dump-dom", *looks)
    yield from console
    title = re.search(r"<title>(.*?)</title>", text)[1]
    told = dict(re.findall(r"(\w+) (-?\d+)", title))
    if not told or told["canvases"] == "0" or told["canvases"] != told["drawn"]:
        yield f"not every canvas is drawn: {title}"
    if told.get("keys") == "0" or told.get("saves") == told.get("keys"):
        yield f"its buttons are missing: {title}"
    if ('"explorer"' in page.read_text()) != (told.get("choices", "0") != "0"):
        yield f"its choices are missing: {title}"
    if int(told.get("wider", 1)) > 0:
        yield f"wider than the window: {title}"
    if re.search(r'class="keys"', text) and 'aria-pressed="false"' not in text:
        yield "a key hides no curve"


def main():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        print("skipped: no Chromium (Debian: chromium)")
        sys.exit(77)
    programs, source, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    os.chdir(source)
    written = programs_pages.write_pages(programs, source, folder)
    broken = folder / "broken.html"
    broken.write_text(written["comparison"].read_text().replace("new Chart(", "new Charts("))
    programs_pages.expect("found: a page whose script fails", list(faults_in_browser(chromium, broken, LOOKS["wide"])))
    for name, page in written.items():
        for look, arguments in LOOKS.items():
            faults = list(faults_in_browser(chromium, page, arguments))
            programs_pages.expect("\n".join([f"{name}, {look}: without a word on the console, all drawn", *faults]),
                                  not faults)
            browse(chromium, page, f"--screenshot={folder / f'{name}-{look}.png'}", *arguments)


if __name__ == "__main__":
    main()
