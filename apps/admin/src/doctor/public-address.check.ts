import { httpConfig, postgresConfig } from '@millrace/platform/config';
import type { Check, CheckContext, HttpResponse } from './check.ts';
import { finding, type Finding } from './finding.ts';
import { settingsOf } from './installation.ts';
import { publicAuthorities } from './network.ts';
import { addressOf } from './servers.ts';

/** The address of clients, through the proxy: TLS, the redirect, and a path of the api and of the gateway. */
export const publicAddressCheck: Check = {
  id: 'public',
  title: 'Public address',
  run: async (context) => {
    const { installation } = context;
    const url = settingsOf([httpConfig], installation, 'api')?.http.publicUrl ?? null;
    if (url === null || !url.startsWith('https:')) return [];
    const ca = settingsOf([postgresConfig], installation, 'api')?.postgres.ca ?? null;
    const address = addressOf(url, 443);
    const [isReachable, api, gateway, redirect] = await Promise.all([
      context.effects.servedCertificate({ ...address, start: 'direct', ca: null }).then(
        () => true,
        () => false,
      ),
      get(context, `${url.replace(/\/$/, '')}/v2/me`, ca),
      get(context, `${url.replace(/\/$/, '')}/v1/models`, ca),
      checkRedirect(context, url),
    ]);
    if (!isReachable) return [await unreachable(context, url), ...redirect];
    return [...redirect, ...checkApi(context, url, api), ...checkGateway(context, url, gateway)];
  },
};

/** Behind NAT, connections from the machine to its own public address can fail although those of clients work. */
async function unreachable({ effects }: CheckContext, url: string): Promise<Finding> {
  const { host } = addressOf(url, 443);
  const causes = ['certificate-*@public', 'ca-*'];
  if ((await effects.isThisMachine(host)) !== false)
    return finding('public-unreachable', 'public', `${url} does not answer.`, {}, causes);
  const problem = `${url} does not answer from here, and its address is not on an interface of this machine.`;
  return finding('public-unreachable-from-here', 'public', problem, { url, host }, causes);
}

/** Null without an answer. The name of the certificate is checked with the other certificates. */
async function get({ effects }: CheckContext, url: string, ca: string | null): Promise<HttpResponse | null> {
  return effects.request({ url, ca: publicAuthorities(ca), checkName: false }).catch(() => null);
}

const valuesOf = ({ installation }: CheckContext) => ({ file: installation.path('proxy.env') });

async function checkRedirect(context: CheckContext, publicUrl: string): Promise<readonly Finding[]> {
  const { installation, effects } = context;
  const { hostname, host } = new URL(publicUrl);
  const [port = '80'] = /:(\d{1,5})$/.exec(installation.proxy['HTTP_BIND'] ?? '')?.slice(1) ?? [];
  const plain = `http://${hostname}:${port}/healthz`;
  const response = await effects.request({ url: plain, headers: { host } }).catch(() => null);
  const target = response?.headers['location'];
  if (
    response !== null &&
    response.status >= 300 &&
    response.status < 400 &&
    String(target).startsWith('https://')
  ) {
    return [];
  }
  const problem =
    response === null
      ? `${plain} does not answer.`
      : `${plain} answers ${response.status} instead of a redirect.`;
  return [finding('public-redirect', 'public', problem, valuesOf(context), ['public-unreachable*'])];
}

const isRejected = (response: HttpResponse | null): response is HttpResponse =>
  response !== null && [401, 429].includes(response.status);

/** Without a key or above the limit of requests, the api refuses the request in its own format. */
function checkApi(context: CheckContext, url: string, response: HttpResponse | null): readonly Finding[] {
  if (isRejected(response) && response.body.includes('"reason"')) return [];
  const problem = `${url}/v2/me is not answered by the api (${response?.status ?? 'no answer'}).`;
  return [
    finding('public-route-api', 'public', problem, valuesOf(context), [
      'process-not-*@api',
      'certificate-*@api',
      'ca-*',
    ]),
  ];
}

/** The gateway does the same in the format of OpenAI. */
function checkGateway(context: CheckContext, url: string, response: HttpResponse | null): readonly Finding[] {
  if (isRejected(response) && response.body.includes('"object":"error"')) return [];
  const problem = `${url}/v1/models is not answered by the gateway (${response?.status ?? 'no answer'}).`;
  const causes = ['process-not-*@gateway', 'certificate-*@gateway', 'ca-*'];
  return [finding('public-route-gateway', 'public', problem, valuesOf(context), causes)];
}
