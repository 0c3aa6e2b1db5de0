import { expect, test } from 'vitest';

import type { Requirement } from './requirements.ts';
import { installSteps, quote, shellLine } from './steps.ts';

const apt = { release: '/c/apt/bookworm', suite: (suite: string) => `/c/apt/${suite}` };

test('nothing missing means nothing to do', () => {
  expect(installSteps([], 'bookworm', apt)).toEqual([]);
});

test('packages of all engines are installed in one run, backports by their suite', () => {
  const needs: Requirement[] = [
    { kind: 'packages', from: 'release', packages: ['postgresql-15', 'openssl'] },
    { kind: 'packages', from: 'backports', packages: ['valkey-server'] },
    { kind: 'packages', from: 'release', packages: ['openssl'] },
  ];
  const steps = installSteps(needs, 'bookworm', apt);
  expect(steps.map(shellLine)).toEqual([
    'apt-get -c /c/apt/bookworm/apt.conf update',
    'env DEBIAN_FRONTEND=noninteractive apt-get -c /c/apt/bookworm/apt.conf install -y postgresql-15 openssl valkey-server/bookworm-backports',
  ]);
  expect(steps.every((step) => step.needsRoot)).toBe(true);
});

test('a package of another suite is fetched and unpacked without root', () => {
  const need: Requirement = {
    kind: 'unpack',
    suite: 'forky',
    packages: ['nats-server'],
    folder: '/c/nats-server',
  };
  const steps = installSteps([need], 'bookworm', apt);
  expect(steps.some((step) => step.needsRoot)).toBe(false);
  expect(steps.at(-1)?.argv.at(-1)).toBe(
    'rm -f /c/apt/forky/nats-server_*.deb' +
      ' && cd /c/apt/forky && apt-get -c /c/apt/forky/apt.conf download nats-server' +
      ' && rm -rf /c/nats-server.new && dpkg-deb -x /c/apt/forky/nats-server_*.deb /c/nats-server.new' +
      ' && rm -rf /c/nats-server && mv /c/nats-server.new /c/nats-server',
  );
});

test('a program and the libraries it needs are fetched together and share a folder', () => {
  const need: Requirement = {
    kind: 'unpack',
    suite: 'forky',
    packages: ['llama', 'libc6'],
    folder: '/c/llama',
  };
  expect(installSteps([need], 'bookworm', apt).at(-1)?.argv.at(-1)).toBe(
    'rm -f /c/apt/forky/llama_*.deb /c/apt/forky/libc6_*.deb' +
      ' && cd /c/apt/forky && apt-get -c /c/apt/forky/apt.conf download llama libc6' +
      ' && rm -rf /c/llama.new && dpkg-deb -x /c/apt/forky/llama_*.deb /c/llama.new' +
      ' && dpkg-deb -x /c/apt/forky/libc6_*.deb /c/llama.new' +
      ' && rm -rf /c/llama && mv /c/llama.new /c/llama',
  );
});

test('a missing npm package is what `npm ci` is for', () => {
  expect(installSteps([{ kind: 'npm', package: 'x' }], 'bookworm', apt).map(shellLine)).toEqual(['npm ci']);
});

test('words are quoted only where a shell would take them apart', () => {
  expect(quote('plain-word_1.2/x')).toBe('plain-word_1.2/x');
  expect(quote('two words')).toBe("'two words'");
  expect(quote("it's")).toBe(String.raw`'it'\''s'`);
});
