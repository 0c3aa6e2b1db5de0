import type { Contract, ProcessSession } from '@millrace/platform/db';
import type { RestateDeployment } from '@millrace/platform/restate';
import { isOlder } from '@millrace/platform/release';

/** The facts of an installation from which the steps of an upgrade follow. */
export interface UpgradeFacts {
  /** The name of the installed release. */
  readonly installed: string;
  /** Findings of `doctor` that no upgrade explains, as sentences. */
  readonly problems: readonly string[];
  readonly pending: readonly {
    readonly version: number;
    readonly name: string;
    readonly contracts: readonly Contract[];
  }[];
  /** Running apis and workers of all machines. */
  readonly sessions: readonly ProcessSession[];
  /** Gateways with their release. Null: one of another machine did not answer. */
  readonly gateways: readonly { readonly address: string; readonly release: string | null }[];
  /** Null if Restate did not answer. */
  readonly deployments: readonly RestateDeployment[] | null;
}

export interface UpgradeStep {
  readonly title: string;
  /** `next` is the step to do now; later ones are `waiting`. */
  readonly state: 'done' | 'next' | 'waiting' | 'blocked';
  /** The reasons and commands. */
  readonly lines: readonly string[];
}

type OpenStep = Omit<UpgradeStep, 'state'> & { readonly state: 'done' | 'open' | 'blocked' };

/** Releases that did not name themselves, up to 0.2.0. */
const UNNAMED = '0.2.0 or older';
const replaced = ['worker', 'api', 'gateway'] as const;

export function planUpgrade(facts: UpgradeFacts): readonly UpgradeStep[] {
  const open = [
    checksStep(facts),
    schemaStep(facts),
    ...replaced.map((role) => processStep(role, facts)),
    restateStep(facts),
  ];
  let isFirst = true;
  return open.map(({ state, ...step }) => {
    if (state === 'done') return { ...step, state };
    const isNext = isFirst;
    isFirst = false;
    return { ...step, state: isNext ? (state === 'blocked' ? 'blocked' : 'next') : 'waiting' };
  });
}

function checksStep({ problems }: UpgradeFacts): OpenStep {
  const title = 'Checks before the upgrade';
  if (problems.length === 0)
    return { title, state: 'done', lines: ['doctor found no problem, and there is a recent backup.'] };
  return {
    title,
    state: 'blocked',
    lines: [
      ...problems,
      'Repair this first: millrace-admin doctor. Make a backup: systemctl start millrace-backup.',
    ],
  };
}

function schemaStep({ pending, sessions }: UpgradeFacts): OpenStep {
  const title = 'Schema of the database';
  if (pending.length === 0) return { title, state: 'done', lines: ['It is that of the installed release.'] };
  const blocked = pending.flatMap(({ version, contracts }) =>
    contracts.flatMap(({ kind, name, since }) => {
      const users = sessions.filter(({ release }) => isOlder(release ?? '0.2.0', since));
      return users.length === 0
        ? []
        : [
            `Migration ${version} removes the ${kind} ${name}, which ${describeProcesses(users)} may use. Upgrade to ${since} first.`,
          ];
    }),
  );
  const lines = pending.map(({ version, name }) => `${version} ${name}`);
  if (blocked.length > 0) return { title, state: 'blocked', lines: blocked };
  return {
    title,
    state: 'open',
    lines: [...lines, 'Apply them: millrace-admin upgrade --migrate. Running processes keep working.'],
  };
}

const describeProcesses = (sessions: readonly ProcessSession[]): string =>
  sessions
    .map(({ role, address, release }) => `${role} at ${address ?? 'this machine'} (${release ?? UNNAMED})`)
    .join(', ');

function processStep(
  role: (typeof replaced)[number],
  { installed, sessions, gateways }: UpgradeFacts,
): OpenStep {
  const title = `Processes: ${role}`;
  const found =
    role === 'gateway'
      ? gateways
      : sessions
          .filter((each) => each.role === role)
          .map(({ address, release }) => ({
            address: address ?? 'this machine',
            release: release ?? UNNAMED,
          }));
  const old = found.filter(({ release }) => release !== installed);
  const lines = found.map(({ address, release }) => `${address}: ${release ?? 'does not answer'}`);
  if (found.length === 0) {
    return {
      title,
      state: 'open',
      lines: [`No ${role} is running. On each machine: systemctl start millrace-${role}`],
    };
  }
  if (old.length === 0) return { title, state: 'done', lines };
  const how = `On one machine after the other: install the package, then systemctl restart millrace-${role}, and wait until it is ready.`;
  return { title, state: 'open', lines: [...lines, how] };
}

function restateStep({ deployments, installed, sessions }: UpgradeFacts): OpenStep {
  const title = 'Deployments of earlier releases at Restate';
  if (deployments === null)
    return { title, state: 'blocked', lines: ['The admin API of Restate does not answer.'] };
  const earlier = deployments.filter(({ release }) => release !== installed);
  if (earlier.length === 0) return { title, state: 'done', lines: ['There are none.'] };
  const lines = earlier.map(({ uri, unfinished }) => `${uri}: ${unfinished} calls have not ended.`);
  const isRunning = sessions.some(({ role, release }) => role === 'worker' && release !== installed);
  const why = isRunning
    ? 'Workers remove them after the last worker of that release has ended.'
    : 'Workers remove them within two minutes. Run this command again.';
  return { title, state: 'open', lines: [...lines, why] };
}

/** The way back. Migrations are not undone: the linter has checked that the previous release runs on this schema. */
export function planRollback(
  facts: Pick<UpgradeFacts, 'sessions' | 'installed'>,
  applied: readonly { readonly version: number; readonly contracts: readonly Contract[] }[],
  target: string,
): readonly UpgradeStep[] {
  const refused = applied.flatMap(({ version, contracts }) =>
    contracts
      .filter(({ since }) => isOlder(target, since))
      .map(
        ({ kind, name, since }) =>
          `Migration ${version} removed the ${kind} ${name}, which releases before ${since} use.`,
      ),
  );
  if (refused.length > 0) {
    return [
      {
        title: `Return to ${target}`,
        state: 'blocked',
        lines: [...refused, 'Return to a later release instead.'],
      },
    ];
  }
  return [
    { title: 'Schema of the database', state: 'done', lines: [`It stays. ${target} runs on it.`] },
    ...replaced.toReversed().map((role, index): UpgradeStep => ({
      title: `Processes: ${role}`,
      state: index === 0 ? 'next' : 'waiting',
      lines: [
        ...facts.sessions.filter((each) => each.role === role).map((each) => describeProcesses([each])),
        `On one machine after the other: apt-get install --allow-downgrades ./millrace-server_${target}_amd64.deb, then systemctl restart millrace-${role}.`,
      ],
    })),
  ];
}
