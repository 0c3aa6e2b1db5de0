import { systemClock, withDeadline, type Timer } from '../clock/index.ts';
import { plainConnection, type RestateConnection } from './connection.ts';

const timeoutMs = 10_000;

/**
 * Registers the services at `uri` with Restate; a repeated registration changes nothing. New code needs a new address:
 * calls in progress finish at the address where they started, which must stay up until then. `replace` reads the
 * services of a known address again, for development only.
 */
export async function registerDeployment(
  adminUrl: string,
  uri: string,
  options: {
    readonly replace?: boolean;
    readonly connection?: RestateConnection;
    readonly clock?: Timer;
  } = {},
): Promise<{ readonly deploymentId: string; readonly services: readonly string[] }> {
  const { replace = false, connection = plainConnection, clock = systemClock } = options;
  return withDeadline(clock, 'Registering with Restate', timeoutMs, async (signal) => {
    const { status, text } = await connection.post({
      url: `${adminUrl.replace(/\/$/, '')}/deployments`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ uri, force: replace }),
      signal,
    });
    if (status < 200 || status > 299) throw new Error(explainRejection(uri, status, text));
    const body = JSON.parse(text) as { id: string; services: readonly { name: string }[] };
    return { deploymentId: body.id, services: body.services.map((service) => service.name) };
  });
}

function explainRejection(uri: string, status: number, text: string): string {
  const rejection = `Restate refused to register ${uri} with ${status}: ${text.slice(0, 500)}`;
  if (!/invalid peer certificate/.test(text)) return rejection;
  return (
    `${rejection} Check that SSL_CERT_FILE of the Restate server has the authority of MILLRACE_RESTATE_ENDPOINT_TLS_CERT_FILE, ` +
    'and that this certificate has not expired and contains the name or address.'
  );
}
