import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { containerSettings } from './container-settings.ts';
import { makeRelease } from './make-release.ts';

const TIME = 1_700_000_000;

let scratch: string;
let first: string;
let second: string;
let publicKey: string;

beforeAll(async () => {
  scratch = fs.mkdtempSync(path.join(tmpdir(), 'millrace-release-'));
  first = path.join(scratch, 'first');
  second = path.join(scratch, 'elsewhere', 'second');
  publicKey = path.join(scratch, 'release.pub');
  const secretKey = path.join(scratch, 'release.key');
  // Without a password, which minisign would ask for.
  execFileSync('minisign', ['-G', '-W', '-p', publicKey, '-s', secretKey], { stdio: 'ignore' });
  fs.mkdirSync(path.dirname(second));
  const print = (): void => undefined;
  await makeRelease({ into: first, time: TIME, secretKey, print });
  await makeRelease({ into: second, time: TIME, secretKey: null, print });
});
afterAll(() => fs.rmSync(scratch, { recursive: true, force: true }));

const read = (name: string): string => fs.readFileSync(path.join(first, fileOf(name)), 'utf8');

/** The file whose name ends so. */
function fileOf(ending: string): string {
  return fs.readdirSync(first).find((name) => name.endsWith(ending)) ?? expect.fail(`no file ${ending}`);
}

interface Sbom {
  readonly components: readonly { readonly purl: string; readonly licenses?: readonly unknown[] }[];
}
const sbomFile = (name: string): Sbom => JSON.parse(read(`_${name}.cdx.json`)) as Sbom;

/** Unpacks the Debian package and returns its folder. */
function unpack(): string {
  const folder = path.join(scratch, 'unpacked');
  if (!fs.existsSync(folder)) execFileSync('dpkg-deb', ['-x', path.join(first, fileOf('.deb')), folder]);
  return folder;
}

test('makeRelease: two releases in different folders are equal, byte by byte', () => {
  expect(fs.readFileSync(path.join(second, 'SHA256SUMS'), 'utf8')).toBe(read('SHA256SUMS'));
  // One line for each file, except the checksums and their signature.
  expect(read('SHA256SUMS').trim().split('\n')).toHaveLength(fs.readdirSync(first).length - 2);
});

test('makeRelease: the signature and the checksums are right, and a changed file is refused', () => {
  const verify = (folder: string) =>
    spawnSync(
      'sh',
      ['-c', 'minisign -Vm SHA256SUMS -p "$1" && sha256sum --check --quiet SHA256SUMS', 'verify', publicKey],
      {
        cwd: folder,
        encoding: 'utf8',
      },
    );
  expect(verify(first)).toMatchObject({ status: 0 });
  const tampered = path.join(scratch, 'tampered');
  fs.cpSync(first, tampered, { recursive: true });
  fs.appendFileSync(path.join(tampered, 'compose.yaml'), '# changed\n');
  expect(verify(tampered).stdout).toContain('compose.yaml: FAILED');
  // With checksums to match, the signature is wrong.
  execFileSync('sh', ['-c', 'sha256sum $(cut -c 67- SHA256SUMS) > new; mv new SHA256SUMS'], {
    cwd: tampered,
  });
  expect(verify(tampered).stderr).toContain('Signature verification failed');
});

test('makeRelease: the SBOM is valid, names every package in the source maps, and of others only known ones', async () => {
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
  for (const name of ['amd64', 'oci']) expect(await validator.validate(read(`_${name}.cdx.json`))).toBeNull();
  const maps = fs.globSync(path.join(unpack(), 'usr/lib/millrace/lib/**/*.map'));
  const sources = maps.flatMap((file) => {
    const { sources: names } = JSON.parse(fs.readFileSync(file, 'utf8')) as { sources: readonly string[] };
    return names.flatMap((name) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(name)?.[1] ?? []);
  });
  const inMaps = new Set(sources);
  expect(inMaps.size).toBeGreaterThan(50);
  const inSbom = new Set(sbomFile('amd64').components.map(({ purl }) => nameOf(purl)));
  expect([...inMaps].filter((name) => !inSbom.has(name))).toEqual([]);
  // The bundles of the console and the command line have no maps: the bundler's own lists name their packages.
  const others = [...inSbom].filter((name) => !inMaps.has(name));
  expect(others).toEqual(expect.arrayContaining(['react-dom', 'node', 'dejavu-fonts-ttf']));
  expect(others.filter((name) => !isInConsole(name) && !knownOthers.has(name))).toEqual([]);
});

const knownOthers: ReadonlySet<string> = new Set(['node', 'dejavu-fonts-ttf', '@fontsource/unifont']);

/** `pkg:npm/%40scope/name@1.2.3` becomes `@scope/name`. */
function nameOf(purl: string): string {
  return decodeURIComponent(purl.replace(/^pkg:[a-z]+\//, '').replace(/@[^@]*$/, ''));
}

function isInConsole(name: string): boolean {
  const modules = fs.readFileSync('apps/console/dist/.modules.json', 'utf8');
  return modules.includes(`node_modules/${name}/`);
}

test('makeRelease: the SBOM of the image also names its Debian packages', () => {
  const extra = sbomFile('oci').components.length - sbomFile('amd64').components.length;
  const debian = sbomFile('oci').components.filter(({ purl }) => purl.startsWith('pkg:deb/debian/'));
  expect(debian).toHaveLength(extra);
  expect(debian.some(({ purl }) => purl.startsWith('pkg:deb/debian/libc6@'))).toBe(true);
});

test('makeRelease: a container engine loads the image in both formats, with its name', () => {
  const archive = path.join(first, fileOf('_oci.tar'));
  const folder = path.join(scratch, 'images');
  fs.mkdirSync(folder);
  const env = { ...process.env, ...containerSettings(folder) };
  const podman = (...words: readonly string[]): string =>
    execFileSync('podman', words, { env, encoding: 'utf8' });
  for (const format of ['oci-archive', 'docker-archive']) {
    podman('pull', '--quiet', `${format}:${archive}`);
    expect(podman('images', '--format', '{{.Repository}}')).toContain('localhost/millrace-server');
    podman('rmi', '--all');
  }
});

test('makeRelease: the Debian package belongs to root, without TypeScript, key files and files that others may write', () => {
  const listed = execFileSync('dpkg-deb', ['--contents', path.join(first, fileOf('.deb'))], {
    encoding: 'utf8',
    maxBuffer: 16_777_216,
  });
  const lines = listed.trim().split('\n');
  expect(lines.filter((line) => !line.includes(' root/root '))).toEqual([]);
  expect(lines.filter((line) => /\.(?:[cm]?tsx?|env|key|seed)$/.test(line))).toEqual([]);
  expect(lines.filter((line) => /^-....w|^-.......w/.test(line))).toEqual([]);
});
