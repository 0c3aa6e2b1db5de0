import { expect, test } from 'vitest';

import { help, parseInvocation } from './args.ts';
import { engines } from './engines/index.ts';

const place = { stateDir: undefined, portBase: undefined, topology: undefined };

test('parseInvocation: `up` alone names no engine and sets no option', () => {
  expect(parseInvocation(['up'])).toEqual({ command: 'up', names: [], install: false, ...place });
});

test('parseInvocation: accepts every option of `up`, before or after the names', () => {
  const argv = [
    '--cluster',
    'up',
    'nats',
    'restate',
    '--install',
    '--secure',
    '--state',
    '/x',
    '--port-base',
    '18000',
  ];
  expect(parseInvocation(argv)).toEqual({
    command: 'up',
    names: ['nats', 'restate'],
    install: true,
    secure: true,
    stateDir: '/x',
    portBase: 18_000,
    topology: 'cluster',
  });
});

test('parseInvocation: accepts `--port-base auto`', () => {
  expect(parseInvocation(['up', '--port-base', 'auto'])).toMatchObject({ portBase: 'auto' });
});

test('parseInvocation: `install`, `down`, `status`, `kill` and `logs` take their own options', () => {
  expect(parseInvocation(['down', '--single', 'nats'])).toMatchObject({
    names: ['nats'],
    topology: 'single',
    purge: false,
  });
  expect(parseInvocation(['install', 'ironic'])).toEqual({ command: 'install', names: ['ironic'], ...place });
  expect(parseInvocation(['down', '--purge'])).toMatchObject({ names: [], purge: true });
  expect(parseInvocation(['status', '--json'])).toMatchObject({ command: 'status', json: true });
  expect(parseInvocation(['kill', 'incus-2'])).toMatchObject({ command: 'kill', node: 'incus-2' });
  expect(parseInvocation(['logs', 'nats-1', '-f'])).toMatchObject({ node: 'nats-1', follow: true });
});

test.each([[[]], [['help']], [['--help']], [['up', '-h']]])(
  'parseInvocation: %j returns the help command',
  (argv) => {
    expect(parseInvocation(argv)).toEqual({ command: 'help' });
  },
);

test.each([
  [['start'], /no command start/u],
  [['up', '--purge'], /`up` does not take --purge/u],
  [['status', '--install'], /`status` does not take --install/u],
  [['status', 'nats'], /takes no names/u],
  [['up', '--cluster', '--single'], /exclude each other/u],
  [['up', '--port-base', 'many'], /port number or `auto`, not many/u],
  [['up', '--bogus'], /bogus/u],
  [['kill'], /`kill` takes the name of one node/u],
  [['logs'], /`logs` takes the name of one node/u],
  [['logs', 'nats', 'restate'], /name of one node/u],
])('parseInvocation: refuses %j with an explanation', (argv, message) => {
  expect(() => parseInvocation(argv)).toThrow(message);
});

test('help: names every engine', () => {
  for (const engine of engines) expect(help).toContain(engine.name);
});
