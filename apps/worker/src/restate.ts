import { systemClock } from '@millrace/platform/clock';
import { NotReadyError, startLoop } from '@millrace/platform/lifecycle';
import { readProcessSessions } from '@millrace/platform/db';
import {
  createRestateConnection,
  openClientCertificate,
  readDeployments,
  registerDeployment,
  releaseAddress,
  removeDeployment,
  type RestateConnection,
} from '@millrace/platform/restate';
import type { WorkerConfig } from './config.ts';
import { planDeployments, type Absences } from './plan-deployments.ts';
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

/**
 * Restate can start later and can lose its state, so the idempotent registration is repeated in the background. Also removes the
 * deployments of releases whose workers have ended.
 */
export function maintainRegistration(
  config: WorkerConfig,
  worker: { readonly ownUrl: string; readonly release: string; readonly connection: RestateConnection },
  { db, lifecycle, log }: Pick<WorkerDeps, 'db' | 'lifecycle' | 'log'>,
): void {
  const { registerMs, replaceDeployment } = config.worker;
  const { release, connection } = worker;
  const url = config.restate.adminUrl;
  const uri = releaseAddress(config.restate.endpointUrl ?? worker.ownUrl, release);
  let known: string | undefined;
  let reachable = false;
  let absences: Absences = new Map();
  const register = async (
    signal: AbortSignal,
  ): Promise<readonly [id: string, services: readonly string[]]> => {
    // Replacing handlers belongs to the start of a process; repeated, it would disturb running calls.
    const replace = replaceDeployment && known === undefined;
    try {
      const { deploymentId, services } = await registerDeployment(url, uri, { connection, replace, signal });
      reachable = true;
      return [deploymentId, services];
    } catch (error) {
      reachable = false;
      throw error;
    }
  };
  const replaceEarlier = async (
    signal: AbortSignal,
    own: string,
    services: readonly string[],
  ): Promise<void> => {
    const admin = { url, connection, signal };
    const deployments = await readDeployments(admin, (name) => services.includes(name));
    const sessions = await readProcessSessions(db);
    const running = new Set(sessions.flatMap((each) => (each.role === 'worker' ? [each.release] : [])));
    running.add(release);
    const plan = planDeployments({ own, isStart: known === undefined, deployments, running, absences });
    absences = plan.absences;
    if (plan.takeOver) await registerDeployment(url, uri, { connection, signal, replace: true });
    for (const { id, uri: removed, unfinished } of plan.remove) {
      await removeDeployment(admin, id);
      log.info(
        { uri: removed, deploymentId: id, unfinished },
        'removed the deployment of an earlier release',
      );
    }
  };
  const loop = startLoop(
    { name: 'register with Restate', clock: systemClock, log, idleMs: registerMs },
    // Without the signal, calls of a Restate that does not answer would use up the time for the drain.
    async (signal) => {
      try {
        const [deploymentId, services] = await register(signal);
        await replaceEarlier(signal, deploymentId, services);
        if (deploymentId !== known) log.info({ uri, services, deploymentId }, 'registered with Restate');
        known = deploymentId;
      } catch (error) {
        if (!signal.aborted) throw error;
      }
      return 'idle';
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
