import { migrate } from '@millrace/platform/db';
import { CommandError, optionalText, requiredList, type Command } from '../command.ts';
import { findProblems } from '../doctor/doctor.command.ts';
import { readInstallation } from '../doctor/installation.ts';
import { systemEffects } from '../doctor/system-effects.ts';
import { readUpgradeFacts } from './facts.ts';
import { planRollback, planUpgrade, type UpgradeStep } from './plan.ts';

const defaultFolder = '/etc/millrace';
const versionPattern = /^\d+\.\d+\.\d+$/;
const machinePattern = /^[\w.:-]+$/;

/** Repeatable: every run reads which steps are done, so an upgrade continues after any interruption. */
export function createUpgradeCommand(find: typeof findProblems = findProblems): Command {
  return {
    name: 'upgrade',
    summary: 'show the steps of a rolling upgrade to the installed release, and do the next one',
    flags: {
      folder: { describe: `folder with the settings (default: ${defaultFolder})`, value: 'FOLDER' },
      machines: {
        describe: 'addresses of the other machines with gateways, separated by commas',
        value: 'LIST',
      },
      migrate: { describe: 'apply the migrations if this is the next step' },
      rollback: {
        describe: 'show the way back to this version',
        value: 'VERSION',
        check: (value) => (versionPattern.test(value) ? null : 'is not a version, such as 0.2.0'),
      },
      json: { describe: 'print one JSON object' },
    },
    example: 'millrace-admin upgrade --migrate --machines 10.0.0.12,10.0.0.13',
    run: async ({ out, postgresOwner }, flags) => {
      const folder = optionalText(flags, 'folder') ?? defaultFolder;
      const target = optionalText(flags, 'rollback');
      const machines =
        flags['machines'] === undefined
          ? []
          : requiredList(flags, 'machines', {
              isValid: (each) => machinePattern.test(each),
              expected: 'addresses',
            });
      const read = async () => {
        const findings = await find(folder, systemEffects);
        return readUpgradeFacts({
          installation: readInstallation(folder),
          effects: systemEffects,
          findings,
          machines,
        });
      };
      let facts = await read();
      let steps = target === undefined ? planUpgrade(facts) : planRollback(facts, facts.applied, target);
      if (flags['migrate'] === true && target === undefined && isMigrationNext(steps)) {
        const { url, ca = null } = postgresOwner();
        await migrate(url, { ca });
        facts = await read();
        steps = planUpgrade(facts);
      }
      out(
        flags['json'] === true
          ? `${JSON.stringify({ release: facts.installed, steps })}\n`
          : formatSteps(steps),
      );
      if (steps.some(({ state }) => state === 'blocked'))
        throw new CommandError('The upgrade cannot continue yet.');
    },
  };
}

const isMigrationNext = (steps: readonly UpgradeStep[]): boolean => steps[1]?.state === 'next';

function formatSteps(steps: readonly UpgradeStep[]): string {
  const texts = steps.map(({ title, state, lines }, index) =>
    [`${index + 1}. ${title}: ${state}`, ...lines.map((line) => `   ${line}`)].join('\n'),
  );
  const isDone = steps.every(({ state }) => state === 'done');
  return `${texts.join('\n')}\n${isDone ? 'The upgrade is complete.\n' : ''}`;
}
