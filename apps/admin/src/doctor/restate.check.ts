import { existsSync, readFileSync } from 'node:fs';
import { restateConfig } from '@millrace/platform/config';
import { identityPublicKey } from '@millrace/platform/restate/identity-key';
import type { Check, CheckContext, HttpRequest, HttpResponse } from './check.ts';
import { finding, type Finding } from './finding.ts';
import { settingsOf } from './installation.ts';
import { isOlder } from '@millrace/platform/release';

const OLDEST = '1.7';
const certificateCauses = ['certificate-*@restate', 'ca-*'];

/** Ingress, admin API, the key with which Restate signs, and the handlers of the worker. */
export const restateCheck: Check = {
  id: 'restate',
  title: 'Restate',
  run: async (context) => {
    const restate = settingsOf([restateConfig], context.installation, 'worker')?.restate;
    if (restate === undefined) return [];
    const [ingress, admin] = await Promise.all([
      checkIngress(context, restate),
      checkAdmin(context, restate),
    ]);
    return [...ingress, ...admin, ...checkIdentity(context, restate)];
  },
};

type Restate = NonNullable<ReturnType<typeof settingsOf<readonly [typeof restateConfig]>>>['restate'];

function request(
  { effects }: CheckContext,
  restate: Restate,
  base: string,
  path: string,
): Promise<HttpResponse> {
  const { ca, clientCertFile, clientKeyFile } = restate;
  const isEncrypted = base.startsWith('https:');
  const tls: Partial<HttpRequest> = isEncrypted
    ? {
        ...(ca === null ? {} : { ca }),
        ...(clientCertFile === null ? {} : { clientCertificate: readFileSync(clientCertFile, 'utf8') }),
        ...(clientKeyFile === null ? {} : { clientKey: readFileSync(clientKeyFile, 'utf8') }),
      }
    : {};
  return effects.request({ url: `${base.replace(/\/$/, '')}${path}`, ...tls });
}

async function checkIngress(context: CheckContext, restate: Restate): Promise<readonly Finding[]> {
  const { ingressUrl } = restate;
  const isUp = await request(context, restate, ingressUrl, '/restate/health').then(
    ({ status }) => status < 500,
    () => false,
  );
  if (isUp) return [];
  const problem = `${ingressUrl} does not answer.`;
  return [finding('restate-ingress-unreachable', 'restate', problem, valuesOf(context), certificateCauses)];
}

const valuesOf = ({ installation }: CheckContext) => ({ file: installation.files.worker.path });

async function checkAdmin(context: CheckContext, restate: Restate): Promise<readonly Finding[]> {
  const { adminUrl } = restate;
  try {
    const [version, deployments] = await Promise.all(
      ['/version', '/deployments'].map(async (path) => {
        const { status, body } = await request(context, restate, adminUrl, path);
        if (status !== 200) throw new Error(`Restate answered ${status}.`);
        return JSON.parse(body) as { readonly version?: string; readonly deployments?: unknown };
      }),
    );
    const number = version?.version ?? '';
    return [
      ...(isOlder(number, OLDEST)
        ? [finding('restate-version', 'restate', `Restate has version ${number}.`)]
        : []),
      ...checkDeployment(restate, deployments?.deployments),
    ];
  } catch {
    const problem = `${adminUrl} does not answer.`;
    return [
      // One server has both addresses.
      finding('restate-admin-unreachable', 'restate', problem, valuesOf(context), [
        'restate-ingress-unreachable',
        ...certificateCauses,
      ]),
    ];
  }
}

function checkDeployment(restate: Restate, deployments: unknown): readonly Finding[] {
  const address = handlersAddress(restate);
  const known = Array.isArray(deployments) ? (deployments as readonly { uri?: string }[]) : [];
  if (known.some(({ uri = '' }) => uri.replace(/\/$/, '').split('/release/')[0] === address)) return [];
  const problem = `Restate has no deployment at ${address}.`;
  return [
    finding('restate-deployment-missing', 'restate', problem, { address }, [
      'process-not-running@worker',
      'restate-identity',
    ]),
  ];
}

/** As the worker registers it. */
function handlersAddress({ endpointUrl, endpointHost, endpointPort, tlsCert }: Restate): string {
  const scheme = tlsCert === null ? 'http' : 'https';
  const host = endpointHost.includes(':') ? `[${endpointHost}]` : endpointHost;
  return (endpointUrl ?? `${scheme}://${host}:${endpointPort}`).replace(/\/$/, '');
}

function checkIdentity({ installation }: CheckContext, { identityKeys }: Restate): readonly Finding[] {
  const path = installation.path('restate', 'identity.pem');
  if (!existsSync(path)) return [];
  const key = publicKeyIn(path);
  if (key === null || identityKeys.includes(key)) return [];
  const problem = `MILLRACE_RESTATE_IDENTITY_KEYS does not have the public key of ${path}.`;
  return [finding('restate-identity', 'restate', problem, { key, file: installation.files.worker.path })];
}

/** Null if the file contains no key, which Restate reports when it starts. */
function publicKeyIn(path: string): string | null {
  try {
    return identityPublicKey(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}
