import { systemClock, withDeadline, type Timer } from '../clock/index.ts';
import { plainConnection, type RestateConnection, type RestateRequest } from './connection.ts';

const timeoutMs = 10_000;

export interface RestateAdminOptions {
  /** Of the admin API. */
  readonly url: string;
  readonly connection?: RestateConnection;
  readonly clock?: Timer;
  /** Ends calls early, such as those of a process that stops. */
  readonly signal?: AbortSignal;
}

/** The address of the handlers of one release, so that Restate ends a call where it started. Handlers ignore the path. */
export function releaseAddress(base: string, release: string): string {
  return `${base.replace(/\/$/, '')}/release/${release}`;
}

/** The release in the address of a deployment. Null for releases that did not name theirs, up to 0.2.0. */
export function releaseOfAddress(uri: string): string | null {
  const [, release] = uri.split('/release/');
  return release?.replace(/\/$/, '') ?? null;
}

/** The release whose handlers Restate reads with a request of this path. Null for other requests, such as calls. */
export function releaseOfDiscovery(path: string): string | null {
  return path.endsWith('/discover') ? releaseOfAddress(path.slice(0, -'/discover'.length)) : null;
}

/**
 * Registers the services at `uri` with Restate; a repeated registration changes nothing. New code needs a new address:
 * calls in progress finish at the address where they started. `replace` reads the services of a known address again, and
 * sends new calls there.
 */
export async function registerDeployment(
  adminUrl: string,
  uri: string,
  options: Omit<RestateAdminOptions, 'url'> & { readonly replace?: boolean } = {},
): Promise<{ readonly deploymentId: string; readonly services: readonly string[] }> {
  const { replace = false, ...rest } = options;
  const { status, text } = await callAdmin(
    { ...rest, url: adminUrl },
    { method: 'POST', path: '/deployments', body: JSON.stringify({ uri, force: replace }) },
  );
  if (status < 200 || status > 299) throw new Error(explainRejection(uri, status, text));
  const body = JSON.parse(text) as { id: string; services: readonly { name: string }[] };
  return { deploymentId: body.id, services: body.services.map((service) => service.name) };
}

function explainRejection(uri: string, status: number, text: string): string {
  const rejection = `Restate refused to register ${uri} with ${status}: ${text.slice(0, 500)}`;
  if (!/invalid peer certificate/.test(text)) return rejection;
  return (
    `${rejection} Check that SSL_CERT_FILE of the Restate server has the authority of MILLRACE_RESTATE_ENDPOINT_TLS_CERT_FILE, ` +
    'and that this certificate has not expired and contains the name or address.'
  );
}

/** Handlers at one address, as Restate knows them. */
export interface RestateDeployment {
  readonly id: string;
  readonly uri: string;
  readonly release: string | null;
  /** Whether new calls of one of its services go there. */
  readonly isLatest: boolean;
  /** Calls that started there and have not ended. */
  readonly unfinished: number;
}

interface ListedDeployment {
  readonly id: string;
  readonly uri?: string;
  readonly services: readonly { readonly name: string; readonly revision: number }[];
}

/** The deployments that serve one of these services. Installations that share a Restate have other names of services. */
export async function readDeployments(
  options: RestateAdminOptions,
  services: (name: string) => boolean,
): Promise<readonly RestateDeployment[]> {
  const { deployments } = await readJson<{ deployments: readonly ListedDeployment[] }>(options, {
    method: 'GET',
    path: '/deployments',
  });
  const own = deployments.filter((each) => each.services.some(({ name }) => services(name)));
  const newest = new Map<string, number>();
  for (const { name, revision } of own.flatMap((each) => each.services)) {
    newest.set(name, Math.max(revision, newest.get(name) ?? 0));
  }
  const unfinished = await countUnfinished(options);
  return own.map(({ id, uri = '', services: served }) => ({
    id,
    uri,
    release: releaseOfAddress(uri),
    isLatest: served.some(({ name, revision }) => services(name) && newest.get(name) === revision),
    unfinished: unfinished.get(id) ?? 0,
  }));
}

async function countUnfinished(options: RestateAdminOptions): Promise<ReadonlyMap<string, number>> {
  const rows = await runQuery<{ id: string; calls: number }>(
    options,
    `select pinned_deployment_id as id, count(*) as calls from sys_invocation
      where status <> 'completed' and pinned_deployment_id is not null group by pinned_deployment_id`,
  );
  return new Map(rows.map(({ id, calls }) => [id, Number(calls)]));
}

const idPattern = /^dp_[0-9A-Za-z]+$/;

/**
 * Removes a deployment whose processes have ended, and the calls that started there: they could only be retried for ever, and
 * would block later calls of their object. Sweeps start their work again from PostgreSQL. Repeatable after a crash.
 */
export async function removeDeployment(options: RestateAdminOptions, id: string): Promise<void> {
  if (!idPattern.test(id)) throw new TypeError(`Not the id of a deployment: ${JSON.stringify(id)}.`);
  const calls = await runQuery<{ id: string }>(
    options,
    `select id from sys_invocation where status <> 'completed' and pinned_deployment_id = '${id}'`,
  );
  for (const call of calls) {
    // It may have ended meanwhile.
    await request(options, { method: 'PATCH', path: `/invocations/${call.id}/kill` }, [404, 409]);
  }
  await request(options, { method: 'DELETE', path: `/deployments/${id}?force=true` }, [404]);
}

type AdminCall = Pick<RestateRequest, 'body'> & {
  readonly method: NonNullable<RestateRequest['method']>;
  readonly path: string;
};

function callAdmin(
  { url, connection = plainConnection, clock = systemClock, signal: given }: RestateAdminOptions,
  { path, ...call }: AdminCall,
): ReturnType<RestateConnection['send']> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  return withDeadline(clock, 'A call of the admin API of Restate', timeoutMs, (late) => {
    const signal = given === undefined ? late : AbortSignal.any([late, given]);
    return connection.send({ ...call, url: `${url.replace(/\/$/, '')}${path}`, headers, signal });
  });
}

async function request(
  options: RestateAdminOptions,
  call: AdminCall,
  alsoAccepted: readonly number[] = [],
): Promise<string> {
  const { status, text } = await callAdmin(options, call);
  if ((status < 200 || status > 299) && !alsoAccepted.includes(status)) {
    throw new Error(`Restate refused ${call.method} ${call.path} with ${status}: ${text.slice(0, 500)}`);
  }
  return text;
}

async function readJson<T>(options: RestateAdminOptions, call: AdminCall): Promise<T> {
  return JSON.parse(await request(options, call)) as T;
}

async function runQuery<Row>(options: RestateAdminOptions, query: string): Promise<readonly Row[]> {
  const body = JSON.stringify({ query });
  return (await readJson<{ rows: readonly Row[] }>(options, { method: 'POST', path: '/query', body })).rows;
}
