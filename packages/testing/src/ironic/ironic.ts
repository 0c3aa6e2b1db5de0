import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ironicCommand, type IronicConf } from '@millrace/services';
import { KEEP_ALIVE_MS } from '../doubles/keep-alive.ts';
import { eventually } from '../time/eventually.ts';
import { freePort } from '../network/ports.ts';
import { startCommand, type TestProcess } from '../processes/processes.ts';

export interface IronicOptions {
  /** Overrides the configuration of the services tool: delays of the fake driver, timeouts. */
  readonly conf?: IronicConf;
  /** The address of this host for machines, if it is not loopback; their BMCs use loopback. */
  readonly hostForMachines?: string;
}

/** An Ironic for one test, ready when this resolves. */
export interface TestIronic extends AsyncDisposable {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** Calls the API as administrator. Throws on errors, and retries if the node is locked. */
  call<T = unknown>(method: string, target: string, body?: unknown): Promise<T>;
  /** Serves the content to machines and returns its URL. */
  publish(name: string, content: Buffer): Promise<string>;
  process(): TestProcess;
  /** kill -9. */
  crash(): Promise<void>;
  /** Starts it again with the same data. */
  start(): Promise<void>;
}

export const ironicVersion = '1.82';
/** A lock lasts as long as a call to a BMC. */
const lockedMs = 20_000;

export async function startIronic(options: IronicOptions = {}): Promise<TestIronic> {
  const home = await mkdtemp(path.join(tmpdir(), 'mr-ironic-'));
  const filesFolder = path.join(home, 'files');
  await mkdir(filesFolder);
  const files = await serveFiles(filesFolder);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const command = await ironicCommand({
    home,
    port,
    filesFolder,
    filesUrl: machineFacingUrl(files.url, options),
    conf: withAddresses({ filesUrl: files.url, ironicUrl: url }, options),
  });
  // The content does not matter, because emulated machines do not boot it.
  await Promise.all(['kernel', 'ramdisk'].map((name) => writeFile(path.join(filesFolder, name), name)));
  const { username, password } = command;
  const call = callOf(url, `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`);
  const launch = async (): Promise<TestProcess> => {
    const started = await startCommand({ name: 'ironic', ...command, folder: home });
    try {
      await eventually({ what: 'Ironic to be at work', timeoutMs: 90_000, intervalMs: 50 }, async () => {
        if (!started.running()) throw new Error(`Ironic ended:\n${started.output()}`);
        const found = await call<{ conductors: { alive: boolean }[] }>('GET', '/v1/conductors');
        return found.conductors.some(({ alive }) => alive);
      });
    } catch (error) {
      await started.crash();
      throw new Error(`Ironic did not start:\n${started.output().slice(-4_000)}`, { cause: error });
    }
    return started;
  };
  let engine = await launch();
  return {
    url,
    username,
    password,
    call,
    publish: async (name, content) => {
      await writeFile(path.join(filesFolder, name), content);
      return `${files.url}/${name}`;
    },
    process: () => engine,
    crash: () => engine.crash(),
    start: async () => {
      await engine.crash();
      engine = await launch();
    },
    [Symbol.asyncDispose]: async () => {
      await engine.crash();
      files.server.closeAllConnections();
      await new Promise((resolve) => files.server.close(resolve));
      await rm(home, { recursive: true, force: true });
    },
  };
}

function withAddresses(
  { filesUrl, ironicUrl }: { readonly filesUrl: string; readonly ironicUrl: string },
  options: IronicOptions,
): IronicConf {
  const { conf = {} } = options;
  const ramdisk = { deploy_kernel: `${filesUrl}/kernel`, deploy_ramdisk: `${filesUrl}/ramdisk` };
  return {
    ...conf,
    conductor: { ...ramdisk, ...conf['conductor'] },
    deploy: { external_http_url: filesUrl, ...conf['deploy'] },
    service_catalog: { endpoint_override: machineFacingUrl(ironicUrl, options), ...conf['service_catalog'] },
  };
}

function machineFacingUrl(url: string, { hostForMachines = '127.0.0.1' }: IronicOptions): string {
  return url.replace('127.0.0.1', hostForMachines);
}

/** Serves the files that Ironic publishes, including symbolic links to other folders. */
async function serveFiles(folder: string): Promise<{ server: Server; url: string }> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://files');
    readFile(path.join(folder, path.normalize(pathname))).then(
      (content) => {
        // A HEAD request needs the size.
        response.writeHead(200, { 'content-length': content.length });
        response.end(request.method === 'HEAD' ? undefined : content);
      },
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return { server, url: `http://127.0.0.1:${address.port}` };
}

function callOf(url: string, authorization: string): TestIronic['call'] {
  return async (method, target, body) => {
    const once = () =>
      fetch(`${url}${target}`, {
        method,
        headers: {
          authorization,
          'content-type': 'application/json',
          'x-openstack-ironic-api-version': ironicVersion,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const response = await eventually({ what: `${method} ${target}`, timeoutMs: lockedMs }, async () => {
      const tried = await once();
      return tried.status === 409 && (await tried.clone().text()).includes('locked') ? undefined : tried;
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${target} responded ${response.status}: ${text}`);
    // The caller's type is the documented format of the response.
    return (text === '' ? undefined : JSON.parse(text)) as never;
  };
}
