import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

// Runs the commands of the README and of its guide in a clone with its own network, where another program uses two of the
// default ports: one of the engines, one of dev.
const takenPorts = [17_410, 8_080];

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const blocks = [
  ...blocksOf(readFileSync(join(root, 'README.md'), 'utf8'), '## Try it'),
  ...blocksOf(readFileSync(join(root, 'docs/guides/getting-started.md'), 'utf8'), '## Next steps'),
];
let clone: string;

beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), 'millrace-readme-'));
});
afterAll(() => {
  rmSync(clone, { recursive: true, force: true });
});

test('the commands of the README and its guide work as written while other programs use the default ports', async () => {
  const [install, dev, ...calls] = blocks;
  if (install === undefined || dev === undefined) throw new Error('The README has no commands to try.');
  expect(dev.trim()).toBe('npm run dev');
  await run('git', ['clone', '--quiet', root, clone]);
  const [npmCi = '', ...services] = install.trim().split('\n');
  expect(npmCi).toBe('npm ci');
  // Uncommitted changes of the work tree are tested too.
  await copyChanges();
  // `npm ci` takes most of a minute, so the clone gets hard links to this checkout's packages. Workspaces are relative links and
  // lead to the clone's sources. The same for the built console; `npm run dev` checks whether it is up to date.
  const packages = ['node_modules', ...globSync('{apps,packages,tools}/*/node_modules', { cwd: root })];
  for (const folder of [...packages, 'apps/console/dist'].filter((each) => existsSync(join(root, each)))) {
    await run('sh', [
      '-euc',
      'cp -al "$1" "$2" 2>/dev/null || { rm -rf "$2"; cp -a "$1" "$2"; }',
      'copy',
      join(root, folder),
      join(clone, folder),
    ]);
  }

  const script = `
    ip link set lo up
    tools/run node -e '${holdPorts}' &
    holder=$!
    dev=
    stop() {
      kill $dev $holder 2>/dev/null || true
      wait || true
      npm run --silent services -- down --purge
    }
    trap stop EXIT
    until [ -e ports-held ]; do sleep 0.1; kill -0 "$holder"; done
    ${services.join('\n')}
    ${dev.trim()} > dev.log 2>&1 &
    dev=$!
    until grep -q 'Millrace is ready' dev.log; do
      kill -0 "$dev" 2>/dev/null || { cat dev.log; exit 1; }
      sleep 0.2
    done
    ${calls.join('\n')}`;
  const { stdout } = await run('unshare', ['--net', 'sh', '-euc', script], {
    cwd: clone,
    // Keep the CLI profile of the user who runs this test unchanged.
    env: { ...process.env, XDG_CONFIG_HOME: join(clone, '.config') },
    maxBuffer: 16 * 1024 * 1024,
  });

  const shown = readFileSync(join(clone, 'dev.log'), 'utf8');
  expect(shown).not.toMatch(/^\s+at .+:\d+:\d+\)?$/m);
  expect(shown).not.toMatch(/^(api|worker|gateway) +\|/m);
  expect(stdout).toMatch(/user +demo@example\.com/);
  expect(stdout).toMatch(/Rental \d+ \(first\) is running\./);
  expect(stdout).toMatch(/Terminated rental \d+ \(first\)\./);
  // The play money that three months of history left.
  expect(stdout).toMatch(/"balanceNanoUsd":"\d{13,15}"/);
  expect(shown).toContain('The history of the demo is loaded.');
  expect(stdout).toMatch(/"key":"mr_live_[0-9A-Za-z_]+"/);
  expect(stdout).toContain('"items":[');
  expect(stdout).toContain('"object":"chat.completion"');
  const description = JSON.parse(readFileSync(join(clone, 'openapi.json'), 'utf8'));
  expect(description.info.version).toBe('2.0.0');
});

/** A program that listens on the default ports and then creates a file. */
const holdPorts = `
  const { createServer } = require("node:net");
  const listening = ${JSON.stringify(takenPorts)}.map((port) =>
    new Promise((resolve) => createServer().listen(port, "127.0.0.1", resolve)));
  Promise.all(listening).then(() => require("node:fs").writeFileSync("ports-held", ""));
`;

async function copyChanges(): Promise<void> {
  const { stdout } = await run('git', ['ls-files', '--modified', '--others', '--exclude-standard'], {
    cwd: root,
  });
  for (const file of stdout.split('\n').filter((line) => line !== '')) {
    await run(
      'sh',
      [
        '-euc',
        'if [ -e "$1" ]; then mkdir -p "$(dirname "$2/$1")"; cp "$1" "$2/$1"; else rm -f "$2/$1"; fi',
        'copy',
        file,
        clone,
      ],
      { cwd: root },
    );
  }
}

/** The shell blocks between a heading and the next heading of the same level, or the end. */
function blocksOf(markdown: string, heading: string): string[] {
  const from = markdown.indexOf(`${heading}\n`);
  const to = markdown.indexOf('\n## ', from + heading.length);
  return [...markdown.slice(from, to === -1 ? undefined : to).matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(
    ([, text = '']) => text,
  );
}
