import { getEventListeners } from 'node:events';
import { freePort } from '@millrace/testing';
import ssh2, { type Algorithms } from 'ssh2';
import { afterEach, describe, expect, it } from 'vitest';
import {
  isKeyRejected,
  loginAndCountGpus,
  newReadinessKey,
  replaceKeysOverSsh,
  type SshTarget,
} from './index.ts';
import {
  newHostKey,
  writeEndlessly,
  serveSshd,
  serveTcp,
  shellOf,
  type SshBehaviour,
  type TestServer,
} from './servers.fixture.ts';

const { privateKey, publicKey } = newReadinessKey();
/** For what happens in any case: a busy machine may take long. */
const patientMs = 60_000;
const patient = (): AbortSignal => AbortSignal.timeout(patientMs);

let open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  const left = open;
  open = [];
  for (const one of left.toReversed()) await one.close();
});

async function track<T extends { close(): Promise<unknown> }>(one: Promise<T>): Promise<T> {
  const opened = await one;
  open.push(opened);
  return opened;
}

function targetAt({ host, port }: { host: string; port: number }, hostKey: string | null = null): SshTarget {
  return { host, port, user: 'ubuntu', privateKey, hostKey };
}

/** Looks, and sees that nothing is left of the look. */
async function lookAt(server: TestServer, target = targetAt(server), timeoutMs = patientMs) {
  const signal = AbortSignal.timeout(timeoutMs);
  const look = await loginAndCountGpus(target, signal);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  await expect.poll(() => server.open).toBe(0);
  return look;
}

const serving = (behaviour: SshBehaviour): Promise<TestServer> => track(serveSshd(behaviour));
const listing = (stdout: string): SshBehaviour => ({ run: shellOf({ 'nvidia-smi -L': [0, stdout] }) });

describe('the proof against servers that mean harm', () => {
  const silent: Readonly<Record<string, () => Promise<TestServer>>> = {
    'says nothing': () => serveTcp(() => undefined),
    'names itself and falls silent': () => serveTcp((socket) => void socket.write('SSH-2.0-OpenSSH_9.6\r\n')),
    'never judges the key': () => serveSshd({ onAuth: () => undefined }),
    'lets in and never answers a command': () => serveSshd({}),
    'answers a command and never ends it': () => serveSshd({ run: (channel) => channel.write('GPU 0: x\n') }),
    'greets a byte at a time': () =>
      serveTcp((socket) => {
        const drip = (): void => {
          if (!socket.destroyed) socket.write('a', () => setImmediate(drip));
        };
        drip();
      }),
  };
  for (const [what, serve] of Object.entries(silent)) {
    it(`one that ${what} holds a call no longer than the caller waits, and keeps nothing open`, async () => {
      const server = await track(serve());
      expect(await lookAt(server, targetAt(server), 300)).toMatchObject({ outcome: 'not-yet' });
      const isLetIn = what.includes('command');
      const outcome = await isKeyRejected(targetAt(server), isLetIn ? patient() : AbortSignal.timeout(100));
      expect(outcome).toBe(isLetIn ? 'accepted' : 'unreachable');
    });
  }

  const endless: Readonly<Record<string, () => Promise<TestServer>>> = {
    'greets in one endless line': () => serveTcp((socket) => writeEndlessly(socket, 'a'.repeat(16_384))),
    'greets in endless lines': () => serveTcp((socket) => writeEndlessly(socket, 'hello\r\n'.repeat(1_000))),
    'sends noise after its name': () =>
      serveTcp((socket) => {
        socket.write('SSH-2.0-OpenSSH_9.6\r\n');
        writeEndlessly(socket, '\0'.repeat(16_384));
      }),
    'has a banner of a megabyte and judges nothing': () =>
      serveSshd({ banner: 'a'.repeat(1_500_000), onAuth: () => undefined }),
    'answers a command without end': () =>
      serveSshd({ run: (channel) => writeEndlessly(channel, 'GPU 0: x\n'.repeat(2_000)) }),
    'complains about a command without end': () =>
      serveSshd({ run: (channel) => writeEndlessly(channel.stderr as typeof channel, 'no\n'.repeat(2_000)) }),
  };
  for (const [what, serve] of Object.entries(endless)) {
    it(`one that ${what} is left long before the caller gives up, and after little of it`, async () => {
      const server = await track(serve());
      expect(await lookAt(server)).toMatchObject({ outcome: 'not-yet' });
      expect(server.sent).toBeLessThan(16 * 1_048_576);
    });
  }

  it('one that hangs up at any point of the way is not yet there, at once', async () => {
    const servers = [
      serveTcp((socket) => socket.destroy()),
      serveTcp((socket) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n')),
      serveTcp((socket) => void socket.end('Not allowed at this time\r\n')),
      serveSshd({ onClient: (client) => client.once('handshake', () => client.end()) }),
      serveSshd({ onAuth: (_context, client) => client.end() }),
      serveSshd({ onClient: (client) => client.once('ready', () => client.end()) }),
      serveSshd({ run: (channel) => channel.close() }),
    ];
    for (const serve of servers) {
      const server = await track(serve);
      expect(await lookAt(server)).toMatchObject({ outcome: 'not-yet' });
    }
  });

  it('one that would have us work, by long groups or by what is packed small, gets no conversation', async () => {
    const costly: Algorithms[] = [
      { kex: ['diffie-hellman-group18-sha512'] },
      { kex: ['diffie-hellman-group-exchange-sha256'] },
      { compress: ['zlib'] },
    ];
    for (const algorithms of costly) {
      const server = await serving({ ...listing(''), algorithms });
      expect(await lookAt(server)).toMatchObject({ outcome: 'not-yet' });
      expect(await isKeyRejected(targetAt(server), patient())).toBe('unreachable');
    }
  });

  it('hanging up while it judges the key is no refusal of it', async () => {
    const server = await serving({ onAuth: (_context, client) => client.end() });
    expect(await isKeyRejected(targetAt(server), patient())).toBe('unreachable');
  });

  it('one that takes passwords alone refuses the key, and is shown no password', async () => {
    const methods: string[] = [];
    const server = await serving({
      onAuth: (context) => {
        methods.push(context.method);
        if (context.method === 'password') context.accept();
        else context.reject(['password', 'keyboard-interactive']);
      },
    });
    expect(await isKeyRejected(targetAt(server), patient())).toBe('refused');
    expect(await lookAt(server)).toMatchObject({ outcome: 'refused' });
    expect(new Set(methods)).toEqual(new Set(['publickey']));
  });

  it('one that wants more than the key has accepted it, and lets nobody in yet', async () => {
    const server = await serving({ onAuth: (context) => context.reject(['password'], true) });
    expect(await isKeyRejected(targetAt(server), patient())).toBe('accepted');
    expect(await lookAt(server)).toMatchObject({ outcome: 'refused' });
  });

  it('one that accepts any key is never taken for one that refuses ours', async () => {
    const server = await serving({});
    expect(await isKeyRejected(targetAt(server), patient())).toBe('accepted');
  });

  it('one with another host key than the pinned is shown no key at all', async () => {
    let tries = 0;
    const onAuth: SshBehaviour['onAuth'] = (context) => {
      tries += 1;
      context.accept();
    };
    const first = await serving({ onAuth, ...listing('') });
    const look = await lookAt(first);
    const second = await serving({ onAuth, hostKey: newHostKey() });
    tries = 0;
    const pinned = targetAt(second, look.outcome === 'in' ? look.hostKey : null);
    const result = await lookAt(second, pinned);
    expect(result).toMatchObject({ outcome: 'wrong-host-key', detail: expect.stringContaining('SHA256:') });
    expect(await isKeyRejected(pinned, patient())).toBe('unreachable');
    expect(tries).toBe(0);
  });

  it('nothing that a machine says gets into what is told of it', async () => {
    const text = 'drop table rentals';
    const servers = [
      serveTcp((socket) => void socket.end(`${text}\r\n`)),
      serveSshd({ banner: text, onAuth: (context) => context.reject(['publickey']) }),
      serveSshd({ run: shellOf({ 'nvidia-smi -L': [9, text], 'ls /dev': [1, text] }) }),
      serveSshd({
        onClient: (client) => client.on('session', (_accept, reject) => reject()),
      }),
    ];
    for (const serve of servers) {
      const server = await track(serve);
      expect(JSON.stringify(await lookAt(server, targetAt(server), 300))).not.toContain(text);
    }
  });

  it('nobody there is not yet there, and nobody is called when nobody waits any more', async () => {
    const target = targetAt({ host: '127.0.0.1', port: await freePort() });
    expect(await loginAndCountGpus(target, patient())).toEqual({
      outcome: 'not-yet',
      detail: 'Nothing listens there.',
    });
    let calls = 0;
    const server = await track(serveTcp(() => (calls += 1)));
    expect(await loginAndCountGpus(targetAt(server), AbortSignal.abort())).toMatchObject({
      outcome: 'not-yet',
    });
    expect(await isKeyRejected(targetAt(server), AbortSignal.abort())).toBe('unreachable');
    expect(calls).toBe(0);
  });
});

describe('counting GPUs', () => {
  const cards = (count: number): string =>
    Array.from({ length: count }, (_, index) => `GPU ${index}: NVIDIA H100 (UUID: GPU-${index})\n`).join('');
  const devices = (count: number): string =>
    [
      'console',
      'null',
      ...Array.from({ length: count }, (_, index) => `nvidia${index}`),
      'nvidiactl',
      '',
    ].join('\n');
  const rows: readonly [string, Parameters<typeof shellOf>[0], number | null][] = [
    ['the driver lists them', { 'nvidia-smi -L': [0, cards(8)] }, 8],
    [
      'the driver is right about a card that fell off the bus',
      { 'nvidia-smi -L': [0, cards(7)], 'ls /dev': [0, devices(8)] },
      7,
    ],
    [
      'parts of a GPU are no GPUs',
      { 'nvidia-smi -L': [0, `${cards(1)}  MIG 1g.10gb Device 0: (UUID: MIG-1)\n`] },
      1,
    ],
    ['the same line twice is one', { 'nvidia-smi -L': [0, cards(1) + cards(1)] }, 1],
    ['there is no tool: the devices count', { 'ls /dev': [0, devices(4)] }, 4],
    ['there is neither tool nor device', { 'ls /dev': [0, devices(0)] }, 0],
    ['the tool fails for want of GPUs', { 'nvidia-smi -L': [9, 'failed'], 'ls /dev': [0, devices(0)] }, 0],
    [
      'the tool fails although there are GPUs: not yet',
      { 'nvidia-smi -L': [9, ''], 'ls /dev': [0, devices(8)] },
      null,
    ],
    ['neither can be asked: not yet', {}, null],
  ];
  for (const [what, responses, gpuCount] of rows) {
    it(what, async () => {
      const server = await serving({ run: shellOf(responses) });
      const result = await lookAt(server);
      if (gpuCount === null) expect(result.outcome).toBe('not-yet');
      else expect(result).toMatchObject({ outcome: 'in', gpuCount });
    });
  }
});

describe('keys', () => {
  it('each proof has a key of its own, which OpenSSH and drivers can read', () => {
    expect(publicKey).toMatch(/^ssh-ed25519 \S+ millrace-proof$/);
    expect(privateKey).toMatch(/^-----BEGIN OPENSSH PRIVATE KEY-----\n/);
    expect(newReadinessKey().publicKey).not.toBe(publicKey);
    const parsed = ssh2.utils.parseKey(privateKey);
    expect(Array.isArray(parsed) || parsed instanceof Error ? null : parsed.type).toBe('ssh-ed25519');
  });

  it('a private key that is none is an error of the caller', async () => {
    const target = { ...targetAt({ host: '127.0.0.1', port: 1 }), privateKey: 'none' };
    await expect(loginAndCountGpus(target, patient())).rejects.toThrow(TypeError);
  });

  it('keys that are no lines are refused before anybody is called', async () => {
    const target = targetAt({ host: '127.0.0.1', port: 1 });
    await expect(replaceKeysOverSsh(target, ['a\nb'], patient())).rejects.toMatchObject({ kind: 'refused' });
  });
});
