import type { CommandIo } from '../command.ts';
import type { FirstOperator } from './first-operator.ts';
import type { FileReport } from './installation-files.ts';
import type { InstallationFacts } from './layout.ts';
import { peersOf } from './machines/machines.ts';

export interface InitResult extends FileReport {
  readonly installation: InstallationFacts;
  readonly hasPrivateCertificate: boolean;
  /** The file with which another of three machines joins. */
  readonly joinFile: string | null;
  /** The run wrote only files: the database is prepared when all three machines have theirs. */
  readonly areFilesOnly: boolean;
  /** The number of migrations that were applied. */
  readonly migrations: number;
  /** Null if this run created none. */
  readonly operator: FirstOperator | null;
  /** Without the name and email address, a run does not create the first one. */
  readonly hasOperator: boolean;
}

export function printResult({ out }: CommandIo, result: InitResult, asJson: boolean): void {
  out(asJson ? `${JSON.stringify(jsonOf(result))}\n` : textOf(result));
}

const consoleUrl = ({ installation }: InitResult): string => `${installation.publicUrl}/console/`;

function jsonOf(result: InitResult): unknown {
  const { installation, written, unchanged, edited, migrations, operator, hasOperator } = result;
  const { joinFile, areFilesOnly } = result;
  return {
    folder: installation.folder,
    ...{ written, unchanged, edited, migrations, joinFile, areFilesOnly },
    consoleUrl: consoleUrl(result),
    hasOperator,
    operator:
      operator === null
        ? null
        : {
            ...{ email: operator.email, organisationId: operator.organisation.id },
            ...{ slug: operator.organisation.slug, keyId: operator.keyId, key: operator.key },
            password: operator.password,
          },
  };
}

function textOf(result: InitResult): string {
  const { installation, written, unchanged, edited, migrations } = result;
  const files = [
    `Files in ${installation.folder}:`,
    ...listOf('written', written),
    ...listOf('unchanged', unchanged),
    ...listOf('changed by you, so not written', edited),
  ];
  if (result.areFilesOnly) return [...files, '', ...nextOnMachines(result), ''].join('\n');
  return [
    ...files,
    migrationText(migrations),
    '',
    ...operatorLines(result),
    'Next:',
    '  systemctl enable --now millrace.target',
    ...reloadLines(result),
    '  millrace-admin doctor',
    `Then sign in at ${consoleUrl(result)}`,
    ...certificateLines(result),
    '',
  ].join('\n');
}

/** The steps until all machines have their files. The guide has them for each machine. */
function nextOnMachines({ installation, joinFile }: InitResult): readonly string[] {
  const { machines } = installation;
  const start = '  systemctl start millrace-etcd millrace-patroni';
  if (machines === null || !machines.isFirst) return ['Next, on this machine:', start];
  const others = peersOf(machines).map(
    ({ name, address }) => `  ${name} (${address}): millrace-admin init --join FILE --machine ${name}`,
  );
  return [
    `Next, copy ${joinFile ?? ''} to the other machines. It contains secrets, so delete the copies afterwards:`,
    ...others,
    'Then, on all three machines:',
    start,
    'Then, on this machine:',
    '  millrace-admin init --name NAME --email ADDRESS',
  ];
}

function migrationText(count: number): string {
  if (count === 0) return 'The database is up to date.';
  return `The database is up to date after ${count} ${count === 1 ? 'migration' : 'migrations'}.`;
}

function listOf(title: string, files: readonly string[]): readonly string[] {
  return files.length === 0 ? [] : [`  ${title}:`, ...files.map((file) => `    ${file}`)];
}

function operatorLines({ operator, hasOperator }: InitResult): readonly string[] {
  if (!hasOperator) {
    return [
      'The installation has no operator. Restore a backup, or create an operator:',
      '  millrace-admin init --name NAME --email ADDRESS',
      '',
    ];
  }
  if (operator === null) {
    return [
      'The installation has an operator, so none was created. If you lost the password or the key:',
      '  millrace-admin user password --email ADDRESS',
      '  millrace-admin key create --organisation SLUG --email ADDRESS',
      '',
    ];
  }
  return [
    `Operator ${operator.email}, organisation ${operator.organisation.slug}.`,
    '',
    `  password of the console: ${operator.password}`,
    `  API key:                 ${operator.key}`,
    '',
    'Both are shown only once and cannot be recovered. Change the password in the console, under Account.',
    '',
  ];
}

/** Commands that make services read the files that were written. */
function reloadLines({ written, operator }: InitResult): readonly string[] {
  if (operator !== null) return [];
  const commands = new Set(
    written.map((file) => commandsOfFiles.find(([pattern]) => pattern.test(file))?.[1]),
  );
  // The joint restart includes the others.
  if (commands.has(restartAll)) {
    for (const role of ['worker', 'gateway']) commands.delete(`systemctl restart millrace-${role}`);
  }
  return [...commands].filter((command) => command !== undefined).map((command) => `  ${command}`);
}

const restartAll = 'systemctl restart millrace-worker millrace-api millrace-gateway';

const commandsOfFiles: readonly (readonly [RegExp, string])[] = [
  [/^proxy\//, 'systemctl reload millrace-proxy'],
  [/^proxy\.env$/, 'systemctl restart millrace-proxy'],
  [/^nats\//, 'systemctl reload millrace-nats'],
  [/^valkey\//, 'systemctl restart millrace-valkey'],
  [/^restate\//, 'systemctl restart millrace-restate'],
  [/^etcd\//, 'systemctl restart millrace-etcd'],
  [/^patroni\//, 'systemctl reload millrace-patroni'],
  [/^internal/, 'systemctl restart millrace-internal'],
  [/^(?:api|millrace\.env$)/, restartAll],
  [/^worker/, 'systemctl restart millrace-worker'],
  [/^gateway/, 'systemctl restart millrace-gateway'],
];

function certificateLines({ hasPrivateCertificate, installation }: InitResult): readonly string[] {
  if (!hasPrivateCertificate) return [];
  return [
    '',
    `Browsers warn of the public certificate, because your private authority issued it (${installation.folder}/ca.pem).`,
    'With a certificate of a public authority, run this command again with --certificate FILE --key FILE.',
  ];
}
