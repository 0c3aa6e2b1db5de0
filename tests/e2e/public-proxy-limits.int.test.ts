import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { request as requestTls } from 'node:https';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { connect as connectTls } from 'node:tls';
import { ensureUp } from '@millrace/services';
import { eventually } from '@millrace/testing';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startNamedServer, type NamedServer } from '../stack/named-servers.ts';
import {
  folderOfProxyFiles,
  preparePublicProxy,
  type ProxyKind,
  type PublicProxy,
} from '../stack/public-proxy.ts';

/** Limits of the shipped proxies for one client: connections and time. */

const readme = readFileSync(path.join(folderOfProxyFiles, 'README.md'), 'utf8');
const closers: (() => PromiseLike<void> | void)[] = [];

beforeAll(() => ensureUp(['haproxy', 'caddy']));
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Started {
  readonly proxy: PublicProxy;
  readonly servers: readonly NamedServer[];
}

async function start(kind: ProxyKind, edit: (configuration: string) => string): Promise<Started> {
  const proxy = await preparePublicProxy(kind, { edit });
  closers.push(() => proxy[Symbol.asyncDispose]());
  const servers = await Promise.all([...proxy.apis, ...proxy.gateways].map(startNamedServer));
  closers.push(async () => void (await Promise.all(servers.map((each) => each[Symbol.asyncDispose]()))));
  await proxy.start();
  return { proxy, servers };
}

/** Fails if the configuration no longer has the text. */
function replaceText(configuration: string, ...pairs: readonly (readonly [string, string])[]): string {
  return pairs.reduce((text, [from, to]) => {
    expect(text).toContain(from);
    return text.replaceAll(from, to);
  }, configuration);
}

const portOf = (url: string): number => Number(new URL(url).port);

interface Connections {
  closedCount(): number;
  close(): void;
}

/** Opens connections from 127.0.0.1 that send nothing. */
async function openSilent(port: number, count: number): Promise<Connections> {
  let closed = 0;
  const sockets: Socket[] = [];
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  closers.push(close);
  while (sockets.length < count) {
    const batch = Array.from({ length: Math.min(100, count - sockets.length) }, () => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.1' });
      sockets.push(socket);
      // A refused connection may be reset.
      socket.resume().on('error', () => undefined);
      socket.once('close', () => (closed += 1));
      return new Promise<void>((resolve) => {
        socket.once('connect', () => resolve()).once('close', () => resolve());
      });
    });
    await Promise.all(batch);
  }
  return { closedCount: () => closed, close };
}

async function untilClosed(connections: Connections, count: number): Promise<void> {
  await eventually({ what: `${count} closed connections` }, () => connections.closedCount() >= count);
}

/** The status of a response to a client with this address, or that its connection was closed. */
async function statusFor(url: string, localAddress: string): Promise<number | 'closed'> {
  const options = { localAddress, family: 4, agent: false } as const;
  const sent = url.startsWith('https:') ? requestTls(url, options) : request(url, options);
  try {
    const [response] = (await once(sent.end(), 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode ?? 0;
  } catch {
    return 'closed';
  }
}

describe('HAProxy', () => {
  test('one address cannot use all connections with connections that send nothing', async () => {
    // Without these time limits, only the limit of connections can close one.
    const { proxy } = await start('haproxy', (text) =>
      replaceText(
        text,
        ['timeout client 60s', 'timeout client 1h'],
        ['timeout http-request 10s', 'timeout http-request 1h'],
      ),
    );
    const silent = await openSilent(portOf(proxy.url), 2_300);
    await untilClosed(silent, 300);
    expect(silent.closedCount()).toBeLessThan(400);
    const silentPlain = await openSilent(portOf(proxy.plainUrl), 300);
    await untilClosed(silentPlain, 300);
    expect(await statusFor(proxy.url, '127.0.0.1')).toBe('closed');
    expect(await statusFor(proxy.url, '127.0.0.2')).toBe(200);
    expect(await statusFor(proxy.plainUrl, '127.0.0.2')).toBe(308);
    silent.close();
    await eventually({ what: 'the address to be served again' }, async () => {
      return (await statusFor(proxy.url, '127.0.0.1')) === 200;
    });
  });

  test.each(['http/1.1', 'h2'])(
    'closes connections without a TLS handshake, but no %s request that waits longer',
    async (protocol) => {
      const { proxy, servers } = await start('haproxy', (text) =>
        replaceText(text, ['timeout client 60s', 'timeout client 1s']),
      );
      // HAProxy closes each of these connections only when `timeout client` has passed since it was opened.
      const untilTimeout = async () => untilClosed(await openSilent(portOf(proxy.url), 1), 1);
      for (const server of servers) {
        server.handle = (incoming, response) => {
          incoming.resume();
          void (async () => {
            await untilTimeout();
            response.writeHead(200, { 'content-type': 'text/event-stream' }).write('first ');
            await untilTimeout();
            response.end('second');
          })();
        };
      }
      const read = protocol === 'h2' ? readHttp2 : async (url: string) => (await fetch(url)).text();
      expect(await read(`${proxy.url}/v1/models`)).toBe('first second');
    },
  );

  test('accepts the PROXY protocol only from the load balancer, with the rules of the README', async () => {
    const { proxy, servers } = await start('haproxy', behindBalancer);
    const port = portOf(proxy.url);
    const addressSeen = async (client: string): Promise<string | undefined> => {
      const { status } = await requestThroughBalancer(port, client);
      const [last] = servers.flatMap(({ requests }) => requests).slice(-1);
      return status === 200 ? String(last?.headers['x-forwarded-for']) : undefined;
    };
    await eventually(
      { what: 'a response' },
      async () => (await addressSeen('203.0.113.9')) === '203.0.113.9',
    );
    expect(await requestThroughBalancer(port, '203.0.113.9', '127.0.0.2')).toEqual({ status: 'closed' });
    expect(await statusFor(proxy.url, '127.0.0.2')).toBe('closed');
    expect(await statusFor(proxy.plainUrl, '127.0.0.2')).toBe('closed');
  });

  test('counts connections by IPv4 address and by IPv6 /64', async () => {
    const { proxy } = await start('haproxy', (text) =>
      replaceText(behindBalancer(text), ['gt 2000', 'gt 2']),
    );
    const port = portOf(proxy.url);
    const statusOf = async (client: string) => (await requestThroughBalancer(port, client)).status;
    for (const [clients, other] of [
      [['203.0.113.9', '203.0.113.9', '203.0.113.9'], '203.0.113.10'],
      [['2001:db8::1', '2001:db8::2', '2001:db8::ffff:0:0:3'], '2001:db8:0:1::1'],
    ] as const) {
      const statuses: (number | 'closed')[] = [];
      for (const client of clients) statuses.push(await statusOf(client));
      expect(statuses).toEqual([200, 200, 'closed']);
      expect(await statusOf(other)).toBe(200);
    }
  });
});

describe('Caddy', () => {
  test('closes connections that send nothing on both ports', async () => {
    const { proxy } = await start('caddy', (text) =>
      replaceText(text, ['read_header 10s', 'read_header 1s']),
    );
    for (const url of [proxy.url, proxy.plainUrl]) await untilClosed(await openSilent(portOf(url), 1), 1);
  });
});

test.each([
  ['haproxy', 'timeout http-keep-alive 60s', 'timeout http-keep-alive 1h'],
  ['caddy', 'idle 60s', 'idle 1h'],
] as const)('%s soon closes a connection without TLS after its redirect', async (kind, shipped, longer) => {
  // Only a shorter limit of the port without TLS can close the connection then.
  const { proxy } = await start(kind, (text) => replaceText(text, [shipped, longer]));
  const socket = connect(portOf(proxy.plainUrl), '127.0.0.1');
  closers.push(() => void socket.destroy());
  socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
  let received = '';
  for await (const data of socket) received += String(data);
  expect(received).toContain(' 308 ');
});

test('the README lists the settings that the tests give to apis and gateways', async () => {
  await using proxy = await preparePublicProxy('haproxy');
  for (const name of Object.keys(proxy.apis[0].env)) expect(readme).toContain(`${name}=`);
});

/** The shipped file with the rules of the README for a load balancer at 127.0.0.1. */
function behindBalancer(configuration: string): string {
  const [, rules = ''] = /```haproxy\n([^`]*tcp-request session [^`]*)```/.exec(readme) ?? [];
  const local = replaceText(rules, ['10.0.0.4', '127.0.0.1']);
  const [, publicRules = '', plainRules = ''] =
    /# frontend public\n(.*)# frontend plain\n(.*)/s.exec(local) ?? [];
  const own = /( *tcp-request connection track-sc0 .*\n *tcp-request connection reject .*\n)/g;
  const replacements = [plainRules, publicRules];
  expect(configuration.match(own)).toHaveLength(2);
  return configuration.replaceAll(own, () => replacements.shift() ?? '');
}

/** Sends a request with the PROXY protocol and leaves its connection open, so that it counts. */
async function requestThroughBalancer(
  port: number,
  client: string,
  balancer = '127.0.0.1',
): Promise<{ status: number | 'closed' }> {
  const [family, server] = client.includes(':') ? ['TCP6', '2001:db8::'] : ['TCP4', '192.0.2.1'];
  const socket = connect({ port, host: '127.0.0.1', localAddress: balancer });
  closers.push(() => void socket.destroy());
  socket.on('error', () => undefined);
  socket.write(`PROXY ${family} ${client} ${server} 40000 443\r\n`);
  const secure = connectTls({ socket, servername: 'localhost', rejectUnauthorized: false });
  secure.on('error', () => undefined);
  secure.write('GET /v2/me HTTP/1.1\r\nhost: localhost\r\n\r\n');
  const received = await Promise.race([
    once(secure, 'data').then(
      ([data]) => String(data),
      () => '',
    ),
    once(secure, 'close').then(
      () => '',
      () => '',
    ),
  ]);
  const status = /^HTTP\/1.1 (\d+)/.exec(received)?.[1];
  return { status: status === undefined ? 'closed' : Number(status) };
}

async function readHttp2(url: string): Promise<string> {
  const { origin, pathname } = new URL(url);
  const session = connectHttp2(origin, { rejectUnauthorized: false });
  closers.push(() => session.destroy());
  let text = '';
  for await (const chunk of session.request({ ':path': pathname }).setEncoding('utf8')) text += chunk;
  return text;
}
