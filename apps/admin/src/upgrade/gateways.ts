import { releaseNameOf } from '@millrace/platform/release';
import type { Effects, HttpRequest } from '../doctor/check.ts';
import type { Installation } from '../doctor/installation.ts';
import { healthRequest, servedHealthRequest } from '../doctor/processes.check.ts';
import type { UpgradeFacts } from './plan.ts';

/** A gateway of this machine that does not answer is not running. One of another machine may run an earlier release. */
export async function readGateways({
  installation,
  effects,
  machines,
}: {
  readonly installation: Installation;
  readonly effects: Pick<Effects, 'request'>;
  /** Addresses of other machines, whose gateways use the port and certificate name of this one. */
  readonly machines: readonly string[];
}): Promise<UpgradeFacts['gateways']> {
  const read = async (request: HttpRequest | null, address: string) => {
    if (request === null) return { address, release: null };
    try {
      const { body } = await effects.request(request);
      const { version = 'unknown', commit = null } = JSON.parse(body) as {
        version?: string;
        commit?: string | null;
      };
      return { address, release: releaseNameOf({ version, commit }) };
    } catch {
      return { address, release: null };
    }
  };
  const [own, others] = await Promise.all([
    read(healthRequest(installation, 'gateway'), 'this machine'),
    Promise.all(machines.map((each) => read(servedHealthRequest(installation, 'gateway', each), each))),
  ]);
  return [...(own.release === null ? [] : [own]), ...others];
}
