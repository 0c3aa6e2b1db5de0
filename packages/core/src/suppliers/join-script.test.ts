import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

/** Tests parts of deploy/supplier/join.sh in a shell with a simulated Incus. enrolment.int.test.ts runs the whole script. */

const script = readFileSync(new URL('../../../../deploy/supplier/join.sh', import.meta.url), 'utf8');
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'join-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The text from one heading to the next. */
function sectionOf(heading: string): string {
  const start = script.indexOf(`# ---- ${heading}`);
  if (start < 0) throw new Error(`join.sh has no section ${heading}.`);
  const end = script.indexOf('\n# ---- ', start + 1);
  return script.slice(start, end < 0 ? undefined : end);
}

/** `aliases` is a file as `incus image alias list --format csv` prints it; `calls` records the calls of Incus. */
const madeUp = `
set -eu
fail() { echo "join.sh: $*" >&2; exit 1; }
say() { echo "==> $*"; }
incus() {
  echo "$*" >>calls
  case "$*" in
    'image alias list '*) cat aliases ;;
    'image alias delete '*) : >aliases ;;
    'config trust add '*) echo trust-token ;;
    'query /1.0') echo '  "certificate": "cert",' ;;
  esac
}
nft() { :; }
project=millrace name=host endpoint=https://host:8443 url=https://api.example.com token=mrj_1
`;

function run(text: string, files: Readonly<Record<string, string>> = {}) {
  for (const [name, content] of Object.entries({ aliases: '', calls: '', ...files })) {
    writeFileSync(join(folder, name), content);
  }
  const { status, stdout, stderr } = spawnSync('sh', ['-c', madeUp + text], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, stdout, stderr, calls: readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n') };
}

const images = sectionOf('Images');
const wanted = `type=virtual-machine images=ubuntu-24.04=images:ubuntu/24.04/cloud\n`;

test('join.sh copies the image again for another machine type, and not for the same type', () => {
  const copies = (calls: readonly string[]) => calls.filter((call) => call.startsWith('image copy'));
  const first = run(wanted + images);
  expect([first.status, first.stderr, copies(first.calls).length]).toEqual([0, '', 1]);
  const container = run(wanted + images, { aliases: 'ubuntu-24.04,abc,CONTAINER,\n' });
  expect(container.calls).toContain('image alias delete ubuntu-24.04 --project millrace');
  expect(copies(container.calls)).toEqual([
    'image copy images:ubuntu/24.04/cloud local: --vm --target-project millrace --alias ubuntu-24.04 --quiet',
  ]);
  const same = run(wanted + images, { aliases: 'ubuntu-24.04,abc,VIRTUAL-MACHINE,\n' });
  expect(copies(same.calls)).toEqual([]);
});

test.each([
  ['does not respond', 'curl() { return 7; }', 'does not respond'],
  ['refuses', "curl() { printf '{}\\n400'; }", 'refused the machine (status 400)'],
])('join.sh revokes the trust token when the marketplace %s', (_what, curl, message) => {
  const result = run(`${curl}\n${sectionOf('Trust')}\n${sectionOf('Asking to join')}`);
  expect([result.status, result.stderr]).toEqual([1, expect.stringContaining(message)]);
  const lastAdd = result.calls.findLastIndex((call) => call.startsWith('config trust add'));
  const lastRevoke = result.calls.lastIndexOf('config trust revoke-token millrace');
  expect(lastAdd).toBeGreaterThanOrEqual(0);
  expect(lastRevoke).toBeGreaterThan(lastAdd);
});

test('join.sh keeps the trust token when the marketplace accepts the machine', () => {
  const result = run(`curl() { printf '{}\\n202'; }\n${sectionOf('Trust')}\n${sectionOf('Asking to join')}`);
  expect([result.status, result.stderr]).toEqual([0, '']);
  expect(result.calls.at(-2)).toMatch(/^config trust add/);
});
