import type { ComputeDriver } from '@millrace/compute';
import {
  callEngine,
  engineFailureOf,
  isSameTask,
  scheduleRetry,
  type ReconcileDeps,
} from './reconcile-deps.ts';
import { reopenPorts } from './verification.steps.ts';
import { finishStart, finishStop } from '../actions/power.service.ts';
import { updateRentalAndEnqueue } from '../model/rental-transitions.ts';
import { currentMachinesOf, type RentalMachine, type RentalView, rentalsActor } from '../model/rental.ts';
import { lockView } from '../model/rental-view.ts';

/** Executes stop, start and reboot at the engine and stores the result. */

type PowerTask = 'stop' | 'start' | 'reboot';

async function applyPowerTask(
  driver: ComputeDriver,
  machine: RentalMachine,
  task: PowerTask,
  {
    graceMs,
    release,
    signal,
  }: { readonly graceMs: number; readonly release: boolean; readonly signal: AbortSignal },
): Promise<void> {
  switch (task) {
    case 'stop':
      await driver.stop(machine, { graceMs }, signal);
      if (!release) return;
      // The GPUs are sold to others next, so this machine must not keep them.
      await driver.setPorts(machine, [], signal);
      return driver.setGpus(machine, [], signal);
    case 'start':
      // A stop that failed to detach the GPUs has already closed the ports.
      await driver.setPorts(machine, machine.ports, signal);
      await driver.start(machine, signal);
      // The engine may have crashed in an earlier try, after it started the machine and before it opened the ports.
      if (machine.tries > 0) await reopenPorts(driver, machine, machine.ports, signal);
      return;
    case 'reboot':
      return driver.reboot(machine, { graceMs }, signal);
  }
}

export async function runPowerTask(
  deps: ReconcileDeps,
  view: RentalView,
  task: PowerTask,
  signal: AbortSignal,
): Promise<void> {
  const { rental } = view;
  const machines = currentMachinesOf(view);
  const graceMs = rental.taskOptions.force === true ? 0 : deps.policy.graceMs;
  const options = { what: `A ${task}`, timeoutMs: deps.policy.callTimeoutMs + graceMs, signal };
  const outcomes = await Promise.allSettled(
    machines.map(async (machine) => {
      const driver = await deps.drivers(machine.clusterId);
      await callEngine(deps, rental, options, (end) =>
        applyPowerTask(driver, machine, task, {
          graceMs,
          release: rental.taskOptions.release === true,
          signal: end,
        }),
      );
    }),
  );
  const [failure] = outcomes.flatMap((outcome, index) =>
    outcome.status === 'rejected' ? [{ error: outcome.reason as unknown, machine: machines[index] }] : [],
  );
  if (failure?.machine === undefined) return finishPowerTask(deps, view, task);
  const { error, machine } = failure;
  deps.log.warn(
    { rentalId: rental.id, externalId: machine.externalId, task, err: error },
    'power task failed',
  );
  const isLate = rental.taskDeadlineAt !== null && rental.taskDeadlineAt <= deps.db.clock.now();
  // GPUs allocated for a failed start must be released, because no meter pays for them.
  const mustSucceed = task === 'stop' && !rental.gpuHeld;
  if (!mustSucceed && (engineFailureOf(error).isFinal || isLate)) return abandonPowerTask(deps, view, task);
  await scheduleRetry(deps, machine, engineFailureOf(error));
}

async function finishPowerTask(deps: ReconcileDeps, view: RentalView, task: PowerTask): Promise<void> {
  await deps.db.transaction({ name: `finish ${task}`, isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, view.rental);
    if (current === null || !isSameTask(current.rental, view.rental)) return;
    if (task === 'stop') await finishStop(tx, current);
    else await finishStart(tx, current);
  });
}

/** Keeps the previous power state and shows the reason to the tenant. The inventory reconciler finds the real state. */
async function abandonPowerTask(deps: ReconcileDeps, view: RentalView, task: PowerTask): Promise<void> {
  await deps.db.transaction({ name: `give up ${task}`, isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, view.rental);
    if (current === null || !isSameTask(current.rental, view.rental)) return;
    await updateRentalAndEnqueue(
      tx,
      current.rental,
      {
        task: null,
        taskOptions: {},
        taskDeadlineAt: null,
        power: task === 'start' ? 'off' : 'on',
        statusReason: `The ${task} failed on the host. Try again.`,
      },
      rentalsActor,
    );
  });
}
