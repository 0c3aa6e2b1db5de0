import type { Contract } from '@millrace/platform/db';
import { isOlder } from '@millrace/platform/release';
import type { PreviousCode, PreviousRelease } from './previous-release.ts';
import type { Removal } from './removals.ts';

interface RemovalCheck {
  readonly removals: readonly Removal[];
  readonly markers: readonly Contract[];
  readonly release: PreviousRelease;
  readonly code: PreviousCode;
}

/** Why objects cannot be dropped or renamed yet. */
export function explainRemovals({
  removals,
  markers,
  release,
  code,
}: RemovalCheck): readonly { readonly rule: string; readonly message: string }[] {
  return removals.flatMap((removal) => {
    const problem = problemWith(removal, { markers, release, code });
    return problem === null ? [] : [{ rule: 'contract', message: problem }];
  });
}

function problemWith(
  removal: Removal,
  { markers, release, code }: Omit<RemovalCheck, 'removals'>,
): string | null {
  const { kind, name } = removal;
  const files = code.filesWith(wordsOf(removal));
  const marker = markers.find((each) => each.kind === kind && each.name === name);
  // Code rarely names a constraint, and replacing one by a wider one breaks nothing.
  if (kind === 'constraint' && files.length === 0) return null;
  if (marker === undefined) {
    return (
      `Release ${release.version}, which runs while this migration is applied, has the ${kind} ${name}. ` +
      'First release code that does not use it. Then remove it with this line in the migration: ' +
      `-- contract: ${kind} ${name}, unused since VERSION`
    );
  }
  if (isOlder(release.version, marker.since)) {
    return (
      `The ${kind} ${name} is unused since ${marker.since}, and the previous release is ${release.version}, which uses it. ` +
      `Remove it in a release after ${marker.since}.`
    );
  }
  const [first] = files;
  if (first === undefined) return null;
  return (
    `The marker says that ${marker.since} does not use the ${kind} ${name}, but ${first} of ${release.version} does` +
    `${files.length === 1 ? '' : `, and ${String(files.length - 1)} other files do`}. Remove it one release later.`
  );
}

/** A file that uses a column also names its table. */
function wordsOf({ kind, name, table }: Removal): readonly string[] {
  return kind === 'column' ? name.split('.') : [name, ...(kind === 'index' && table !== null ? [table] : [])];
}
