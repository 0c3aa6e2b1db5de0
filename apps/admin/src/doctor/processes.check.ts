import { healthConfig, httpConfig, postgresConfig } from '@millrace/platform/config';
import { readBuildInfo } from '@millrace/platform/release';
import type { Check, CheckContext, HttpRequest } from './check.ts';
import { finding, type Finding } from './finding.ts';
import {
  firstSettingsOf,
  healthPortConfig,
  processes,
  settingsOf,
  unitOf,
  type Installation,
} from './installation.ts';
import type { ProcessRole } from '../init/layout.ts';
import { reachable, verifiedName } from './servers.ts';

/** Api, worker and gateway: running, ready, and of the installed release. */
export const processesCheck: Check = {
  id: 'processes',
  title: 'Processes',
  run: async (context) => {
    const results = await Promise.all(processes.map((role) => checkProcess(context, role)));
    return results.flat();
  },
};

/** Null if its settings are wrong. */
export function healthRequest(installation: Installation, role: ProcessRole): HttpRequest | null {
  const settings = settingsOf([healthConfig, healthPortConfig], installation, role);
  if (settings === null) return null;
  const { host, token } = settings.health;
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  if (role !== 'api') {
    return { url: `http://${bracketed(reachable(host))}:${settings.healthPorts[role]}/readyz`, headers };
  }
  return servedHealthRequest(installation, role);
}

/** At the port that serves the proxy, of this machine or of another one with the same settings. Null if they are wrong. */
export function servedHealthRequest(
  installation: Installation,
  role: 'api' | 'gateway',
  machine?: string,
): HttpRequest | null {
  const settings = settingsOf([healthConfig, httpConfig], installation, role);
  if (settings === null) return null;
  const { health, http } = settings;
  const headers = health.token === null ? {} : { authorization: `Bearer ${health.token}` };
  const address = `${bracketed(machine ?? reachable(http.host))}:${http.port}`;
  if (http.tlsCert === null) return { url: `http://${address}/readyz`, headers };
  const ca = firstSettingsOf([postgresConfig], installation, ['api', 'worker', 'admin'])?.postgres.ca ?? null;
  return {
    url: `https://${address}/readyz`,
    headers,
    serverName: verifiedName(installation),
    ...(ca === null ? {} : { ca }),
  };
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

async function checkProcess(context: CheckContext, role: ProcessRole): Promise<readonly Finding[]> {
  const { installation, effects } = context;
  const request = healthRequest(installation, role);
  if (request === null) return [];
  const unit = unitOf(role);
  const response = await effects.request(request).catch((error: unknown) => error);
  if (response instanceof Error || typeof response !== 'object' || response === null) {
    const problem = `${role} does not answer at ${new URL(request.url).origin}.`;
    return [finding('process-not-running', role, problem, { unit }, [`certificate-*@${role}`, 'ca-*'])];
  }
  const { status, body } = response as Awaited<ReturnType<typeof effects.request>>;
  if (status === 401) {
    const problem = `${role} refuses MILLRACE_HEALTH_TOKEN of its settings.`;
    return [finding('health-token-refused', role, problem, { unit })];
  }
  const report = parseReport(body);
  if (report === null) {
    const problem = `The answer of ${role} at ${new URL(request.url).origin} is not a health report.`;
    return [finding('process-not-running', role, problem, { unit })];
  }
  return [...failedChecks(report, role), ...checkRelease(report, role, installation)];
}

interface Report {
  readonly ready: boolean;
  readonly state?: string;
  readonly checks: Readonly<Record<string, { readonly ok: boolean; readonly detail?: string }>>;
  readonly version?: string;
  readonly commit?: string | null;
}

function parseReport(body: string): Report | null {
  try {
    const parsed = JSON.parse(body) as Partial<Report>;
    return typeof parsed.ready === 'boolean' ? { ready: parsed.ready, checks: {}, ...parsed } : null;
  } catch {
    return null;
  }
}

/** Findings that stop a process from using the engine. Others, such as slow settings, explain no failed check. */
const causes = {
  postgres: [
    ...['postgres-unreachable', 'postgres-tls', 'postgres-login-refused', 'postgres-role-missing'],
    ...['postgres-connections', 'postgres-rights', 'schema-*', 'certificate-*@postgres'],
  ],
  valkey: [
    'valkey-unreachable',
    'valkey-tls',
    'valkey-credentials-refused',
    'valkey-rules-missing',
    'certificate-*@valkey',
  ],
  nats: ['nats-*', 'certificate-*@nats'],
} as const;

/** Findings that explain a failed check of a process. */
const causesOfChecks: Readonly<Record<string, readonly string[]>> = {
  postgres: causes.postgres,
  valkey: causes.valkey,
  'pot valkey': causes.valkey,
  nats: causes.nats,
  book: [...causes.nats, 'process-not-running@worker', 'process-not-ready@worker'],
  'restate registration': ['restate-*', 'certificate-*@restate'],
  'newest database': ['restore-unconfirmed', ...causes.nats, ...causes.valkey, ...causes.postgres],
  clock: ['clock-*', ...causes.postgres, ...causes.nats],
};

function failedChecks({ ready, state, checks }: Report, role: ProcessRole): readonly Finding[] {
  const unit = unitOf(role);
  const failed = Object.entries(checks).filter(([, { ok }]) => !ok);
  if (failed.length === 0 && !ready) {
    const problem = `${role} is not ready (${state ?? 'unknown state'}).`;
    return [finding('process-not-ready', role, problem, { unit, check: '`/readyz`' })];
  }
  return failed.map(([check, { detail = 'failed' }]) => {
    const problem = `${role} is ${ready ? 'degraded' : 'not ready'}: ${check} (${detail}).`;
    return finding('process-not-ready', role, problem, { unit, check }, causesOfChecks[check] ?? []);
  });
}

function checkRelease(
  { version, commit }: Report,
  role: ProcessRole,
  installation: Installation,
): readonly Finding[] {
  const health = settingsOf([healthConfig], installation, role)?.health;
  if (health === undefined || version === undefined) return [];
  const installed = readBuildInfo(health.commit);
  const isSame = version === installed.version && (commit ?? null) === installed.commit;
  if (isSame) return [];
  const problem = `${role} runs ${version} (${commit ?? 'unknown commit'}), and ${installed.version} (${installed.commit ?? 'unknown commit'}) is installed.`;
  return [finding('process-version', role, problem, { unit: unitOf(role) })];
}
