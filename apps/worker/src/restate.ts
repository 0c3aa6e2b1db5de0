import { systemClock } from '@millrace/platform/clock';
import { NotReadyError, startLoop } from '@millrace/platform/lifecycle';
import {
  createRestateConnection,
  openClientCertificate,
  registerDeployment,
  type RestateConnection,
} from '@millrace/platform/restate';
import type { WorkerConfig } from './config.ts';
import type { WorkerDeps } from './worker-deps.ts';

/** The connections to ingress and admin API, with the client certificate if there is one. */
export async function connectRestate(
  { restate }: Pick<WorkerConfig, 'restate'>,
  { lifecycle, log }: Pick<WorkerDeps, 'lifecycle' | 'log'>,
): Promise<RestateConnection> {
  const { ca, clientCertFile: certFile, clientKeyFile: keyFile } = restate;
  const client =
    certFile === null || keyFile === null
      ? null
      : await openClientCertificate({ certFile, keyFile, clock: systemClock, log });
  const connection = createRestateConnection({ ca, client, log });
  lifecycle.onDrain('pools', 'restate', () => connection.close());
  return connection;
}

/** Restate can start later and can lose its state, so the idempotent registration is repeated in the background. */
export function maintainRegistration(
  config: WorkerConfig,
  { ownUrl, connection }: { readonly ownUrl: string; readonly connection: RestateConnection },
  { lifecycle, log }: Pick<WorkerDeps, 'lifecycle' | 'log'>,
): void {
  const { registerMs, replaceDeployment } = config.worker;
  const uri = config.restate.endpointUrl ?? ownUrl;
  let known: string | undefined;
  let reachable = false;
  const register = async (): Promise<'idle'> => {
    // Replacing handlers belongs to the start of a process; repeated, it would disturb running calls.
    const options = { connection, replace: replaceDeployment && known === undefined };
    const { deploymentId, services } = await registerDeployment(config.restate.adminUrl, uri, options);
    if (deploymentId !== known) log.info({ uri, services, deploymentId }, 'registered with Restate');
    known = deploymentId;
    reachable = true;
    return 'idle';
  };
  const loop = startLoop(
    { name: 'register with Restate', clock: systemClock, log, idleMs: registerMs },
    async () => {
      try {
        return await register();
      } catch (error) {
        reachable = false;
        throw error;
      }
    },
  );
  lifecycle.onDrain('accept', 'registration', () => loop.stop());
  lifecycle.addCheck({
    name: 'restate registration',
    required: false,
    check: async () => {
      if (!reachable)
        throw new NotReadyError('This worker is not registered with Restate, or Restate is unreachable.');
    },
  });
}
