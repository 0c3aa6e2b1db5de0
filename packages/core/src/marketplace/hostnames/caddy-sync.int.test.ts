import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { SimulatedClock } from '@millrace/platform/clock';
import { eventually, freePort, startCaddy, testLog } from '@millrace/testing';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { createCaddyAdmin } from './caddy-admin.ts';
import type { HostnameRoute } from './caddy-config.ts';
import { CaddySync } from './caddy-sync.ts';

// Uses a real Caddy, and a real server instead of an instance.

const DOMAIN = 'run.example.com';
const never = new AbortController().signal;

let wanted: HostnameRoute[];
const held: Duplex[] = [];

const caddy = await startCaddy(DOMAIN);
const server = createServer((request, response) => {
  const { host, 'x-forwarded-proto': scheme } = request.headers;
  response.end(`${host} ${String(scheme)} ${request.url}`);
});
// Echoes every stream.
server.on('upgrade', (_request, socket: Duplex) => {
  held.push(socket);
  socket.on('error', () => undefined);
  socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
  socket.pipe(socket);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
afterAll(async () => {
  for (const socket of held) socket.destroy();
  server.close();
  await caddy[Symbol.asyncDispose]();
});
beforeEach(() => {
  wanted = [named('8080-a-b-frog')];
});

function named(label: string, toPort = port): HostnameRoute {
  return { name: `${label}.${DOMAIN}`, address: '127.0.0.1', port: toPort };
}

function publisherOf(
  options: { clock?: SimulatedClock; names?: () => Promise<HostnameRoute[]>; mark?: () => string } = {},
) {
  const { admin: adminListen, socketPath, listen, certificateFile, keyFile } = caddy;
  return new CaddySync({
    clock: options.clock ?? new SimulatedClock(),
    log: testLog(),
    admin: createCaddyAdmin({ socketPath }),
    settings: async () => ({
      adminListen,
      listen,
      certificateFile,
      keyFile,
      certificateMark: options.mark?.() ?? null,
    }),
    names: options.names ?? (async () => wanted),
  });
}

test('a hostname serves its port over HTTPS with a valid certificate, and 404 once it is removed', async () => {
  const publisher = publisherOf();
  expect(await publisher.publish(never)).toBe('loaded');
  expect(await caddy.get(`8080-a-b-frog.${DOMAIN}`, '/x?y=1')).toEqual({
    status: 200,
    body: `8080-a-b-frog.${DOMAIN} https /x?y=1`,
  });
  expect(await caddy.get(`8081-a-b-frog.${DOMAIN}`)).toMatchObject({ status: 404 });

  wanted = [named('8888-a-b-newt')];
  expect(await publisher.publish(never)).toBe('loaded');
  expect(await caddy.get(`8888-a-b-newt.${DOMAIN}`)).toMatchObject({ status: 200 });
  expect(await caddy.get(`8080-a-b-frog.${DOMAIN}`)).toMatchObject({ status: 404 });
});

test('a port without a listener responds 502 with an explanation', async () => {
  wanted = [named('8080-a-b-frog', 1)];
  await publisherOf().publish(never);
  expect(await caddy.get(`8080-a-b-frog.${DOMAIN}`)).toEqual({
    status: 502,
    body: 'Nothing answers at this port of the instance.\n',
  });
});

test('an unchanged configuration is not loaded again by any worker', async () => {
  const publisher = publisherOf();
  await publisher.publish(never);
  expect(await publisher.publish(never)).toBe('unchanged');
  expect(await publisherOf().publish(never)).toBe('unchanged');
});

test('a stream stays open when another instance comes or goes', async () => {
  const publisher = publisherOf();
  await publisher.publish(never);
  const stream = await caddy.connect(`8080-a-b-frog.${DOMAIN}`);
  let received = '';
  stream.on('data', (chunk: Buffer) => (received += chunk.toString('utf8')));
  stream.write(
    `GET / HTTP/1.1\r\nHost: 8080-a-b-frog.${DOMAIN}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`,
  );
  await eventually({ what: 'the stream' }, () => received.includes('101 Switching'));
  wanted = [...wanted, named('8080-a-b-newt')];
  expect(await publisher.publish(never)).toBe('loaded');
  await caddy.get(`8080-a-b-newt.${DOMAIN}`);
  stream.write('still here');
  await eventually({ what: 'an echo' }, () => received.endsWith('still here'));
  stream.destroy();
});

test('a slow worker cannot restore a name that another worker removed', async () => {
  const old = wanted;
  const quick = publisherOf();
  await quick.publish(never);
  let reads = 0;
  const slow = publisherOf({
    names: async () => {
      reads += 1;
      // After this worker read the names and before it writes them, an instance ends and the other worker publishes
      // that.
      if (reads === 2) {
        wanted = [named('8888-a-b-newt')];
        await quick.publish(never);
        return [...old, named('8080-a-b-toad')];
      }
      return wanted;
    },
  });
  expect(await slow.publish(never)).toBe('unchanged');
  expect(reads).toBe(3);
  expect(await caddy.get(`8080-a-b-frog.${DOMAIN}`)).toMatchObject({ status: 404 });
  expect(await caddy.get(`8888-a-b-newt.${DOMAIN}`)).toMatchObject({ status: 200 });
});

test('a Caddy that lost its configuration gets it back within 30 seconds without a change', async () => {
  const clock = new SimulatedClock();
  const publisher = publisherOf({ clock });
  await publisher.publish(never);
  const admin = createCaddyAdmin({ socketPath: caddy.socketPath });
  await admin.replace({ admin: { listen: caddy.admin } }, await admin.read(never), never);
  await expect(caddy.get(`8080-a-b-frog.${DOMAIN}`)).rejects.toThrow();
  expect(await publisher.publish(never)).toBe('unchanged');
  await clock.advance(30_000);
  expect(await publisher.publish(never)).toBe('loaded');
  expect(await caddy.get(`8080-a-b-frog.${DOMAIN}`)).toMatchObject({ status: 200 });
});

test('a stopped Caddy fails the attempt and serves its previous names after a restart', async () => {
  const publisher = publisherOf();
  await publisher.publish(never);
  await caddy.crash();
  wanted = [...wanted, named('8080-a-b-newt')];
  await expect(publisher.publish(never)).rejects.toThrow();
  await caddy.start();
  await eventually(
    { what: 'the old name' },
    async () => (await caddy.get(`8080-a-b-frog.${DOMAIN}`)).status === 200,
  );
  expect(await publisher.publish(never)).toBe('loaded');
  expect(await caddy.get(`8080-a-b-newt.${DOMAIN}`)).toMatchObject({ status: 200 });
});

test('a renewed certificate is served without a restart of Caddy', async () => {
  let mark = 'first';
  const publisher = publisherOf({ mark: () => mark });
  await publisher.publish(never);
  const name = `8080-a-b-frog.${DOMAIN}`;
  const before = await caddy.shownCertificate(name);
  await caddy.renewCertificate();
  mark = 'second';
  expect(await publisher.publish(never)).toBe('loaded');
  expect(await caddy.shownCertificate(name)).not.toBe(before);
  expect(await caddy.get(name)).toMatchObject({ status: 200 });
});

test("a rejected configuration fails with Caddy's error text, and the previous one stays", async () => {
  await publisherOf().publish(never);
  const { admin: adminListen, socketPath, listen, keyFile } = caddy;
  const broken = new CaddySync({
    clock: new SimulatedClock(),
    log: testLog(),
    admin: createCaddyAdmin({ socketPath }),
    settings: async () => ({
      adminListen,
      listen,
      certificateFile: '/nowhere.pem',
      keyFile,
      certificateMark: null,
    }),
    names: async () => wanted,
  });
  await expect(broken.publish(never)).rejects.toThrow(/answered 500 .*nowhere\.pem/);
  expect(await caddy.get(`8080-a-b-frog.${DOMAIN}`)).toMatchObject({ status: 200 });
});

test('the admin API is reachable on loopback and by socket', async () => {
  const bySocket = createCaddyAdmin({ socketPath: caddy.socketPath });
  const toPort = await freePort();
  const listen = `127.0.0.1:${toPort}`;
  await bySocket.replace({ admin: { listen } }, await bySocket.read(never), never);
  const byPort = createCaddyAdmin({ host: '127.0.0.1', port: toPort });
  const running = await byPort.read(never);
  expect(running.config).toEqual({ admin: { listen } });
  expect(await byPort.replace({ admin: { listen: caddy.admin } }, running, never)).toBe(true);
});
