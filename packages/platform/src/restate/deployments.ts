import { systemClock, withDeadline, type Timer } from '../clock/index.ts';

const timeoutMs = 10_000;

/**
 * Registers the services at `uri` with Restate; a repeated registration changes nothing. New code needs a new address:
 * calls in progress finish at the address where they started, which must stay up until then. `replace` reads the
 * services of a known address again, for development only.
 */
export async function registerDeployment(
  adminUrl: string,
  uri: string,
  options: { readonly replace?: boolean; readonly clock?: Timer } = {},
): Promise<{ readonly deploymentId: string; readonly services: readonly string[] }> {
  const { replace = false, clock = systemClock } = options;
  return withDeadline(clock, 'Registering with Restate', timeoutMs, async (signal) => {
    const response = await fetch(`${adminUrl.replace(/\/$/, '')}/deployments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ uri, force: replace }),
      signal,
    });
    const text = await response.text();
    if (!response.ok) {
      throw new Error(`Restate refused to register ${uri} with ${response.status}: ${text.slice(0, 500)}`);
    }
    const body = JSON.parse(text) as { id: string; services: readonly { name: string }[] };
    return { deploymentId: body.id, services: body.services.map((service) => service.name) };
  });
}
