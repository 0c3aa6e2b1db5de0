import { withDeadline } from '@millrace/platform/clock';
import { certificatesCheck } from './certificates.check.ts';
import type { Check, CheckContext } from './check.ts';
import { filesCheck } from './files.check.ts';
import { finding, withoutConsequences, type Finding } from './finding.ts';
import { fleetCheck, mailCheck } from './fleet.check.ts';
import { machineCheck } from './machine.check.ts';
import { natsCheck } from './nats.check.ts';
import { backupCheck, postgresCheck } from './postgres.check.ts';
import { processesCheck } from './processes.check.ts';
import { publicAddressCheck } from './public-address.check.ts';
import { restateCheck } from './restate.check.ts';
import { hideSecrets, secretsOf } from './secrets.ts';
import { valkeyCheck } from './valkey.check.ts';

export const checks: readonly Check[] = [
  filesCheck,
  certificatesCheck,
  postgresCheck,
  backupCheck,
  natsCheck,
  valkeyCheck,
  restateCheck,
  processesCheck,
  publicAddressCheck,
  machineCheck,
  fleetCheck,
  mailCheck,
];

/** Longer than the longest series of steps in one check. */
const CHECK_MS = 15_000;

/** Runs all checks at once, so that one that waits for an engine delays no other. */
export async function runChecks(
  context: CheckContext,
  onDone: (check: Check) => void,
  all: readonly Check[] = checks,
): Promise<readonly Finding[]> {
  const results = await Promise.all(
    all.map(async (check) => {
      const findings = await runCheck(check, context);
      onDone(check);
      return findings;
    }),
  );
  const secrets = secretsOf(context.installation);
  return withoutConsequences(results.flat()).map((each) => ({
    ...each,
    problem: hideSecrets(each.problem, secrets),
    remedy: hideSecrets(each.remedy, secrets),
  }));
}

async function runCheck(check: Check, context: CheckContext): Promise<readonly Finding[]> {
  const { title, id } = check;
  try {
    return await withDeadline(context.effects.clock, `The check ${title}`, CHECK_MS, () =>
      check.run(context),
    );
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [finding('check-failed', id, `The check ${title} failed: ${why}`)];
  }
}
