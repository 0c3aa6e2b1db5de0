import { expect, test } from 'vitest';

import type { Requirement } from './requirements.ts';
import { installSteps, quote, shellLine } from './steps.ts';

const apt = { release: '/c/apt/bookworm', suite: (suite: string) => `/c/apt/${suite}` };

test('installSteps: returns no steps if nothing is missing', () => {
  expect(installSteps([], 'bookworm', apt)).toEqual([]);
});

test('installSteps: installs the packages of all engines in one run, backports by their suite', () => {
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

test('installSteps: downloads and unpacks a package of another suite without root', () => {
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

test('installSteps: unpacks a program and its libraries into one folder', () => {
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

test('installSteps: runs `npm ci` for a missing npm package', () => {
  expect(installSteps([{ kind: 'npm', package: 'x' }], 'bookworm', apt).map(shellLine)).toEqual(['npm ci']);
});

test('quote: quotes only words that a shell would split or expand', () => {
  expect(quote('plain-word_1.2/x')).toBe('plain-word_1.2/x');
  expect(quote('two words')).toBe("'two words'");
  expect(quote("it's")).toBe(String.raw`'it'\''s'`);
});
