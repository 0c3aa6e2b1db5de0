import { documentNames } from '@millrace/contract/openapi';
import type { Mode } from './args.ts';
import { help } from './args.ts';
import { unboundedIn } from './bounds.ts';
import { findBreakingChanges } from './compare/document.ts';
import type { JsonObject } from './compare/json.ts';
import { rules } from './compare/rules.ts';
import { readCommitted, readReleased, render, writeCommitted, writeReleased } from './documents.ts';
import { lint } from './lint.ts';

type PrintLine = (line: string) => void;

/** Each returns whether it succeeded. */
export const commands: Readonly<Record<Mode, (print: PrintLine) => boolean>> = {
  write,
  check,
  lint: () => lint() === 0,
  bounds,
  diff,
  release,
  help: (print) => {
    print(help);
    return true;
  },
};

function write(print: PrintLine): boolean {
  for (const name of documentNames) writeCommitted(name, render(name));
  print(`Wrote ${documentNames.map((name) => `openapi/${name}.json`).join(', ')}.`);
  return true;
}

function check(print: PrintLine): boolean {
  const stale = documentNames.filter((name) => readCommitted(name) !== render(name));
  if (stale.length === 0) return true;
  print(`${stale.map((name) => `openapi/${name}.json`).join(', ')} differ from the contract.`);
  print('Run `npm run openapi` and commit the result, so that the change of the API can be reviewed.');
  return false;
}

function bounds(print: PrintLine): boolean {
  const found = documentNames.flatMap((name) =>
    unboundedIn(JSON.parse(render(name)) as JsonObject).map(({ at, what }) => `  ${name}: ${at}: ${what}`),
  );
  if (found.length === 0) return true;
  print(`${found.length} fields of requests have no size limit:`);
  for (const line of found) print(line);
  print('Add generous limits in packages/contract: .max(…) for strings and lists, boundedRecord for maps.');
  return false;
}

function diff(print: PrintLine): boolean {
  let well = true;
  for (const name of documentNames) {
    const released = readReleased(name);
    if (released === null) {
      print(`openapi/released/${name}.json does not exist: there was no release yet.`);
      continue;
    }
    const breakages = findBreakingChanges(released, JSON.parse(render(name)));
    if (breakages.length === 0) continue;
    well = false;
    print(`${name}: ${breakages.length} breaking changes since the last release`);
    for (const { rule, at, what } of breakages) print(`  ${rule}: ${at}: ${what}. ${rules[rule]}`);
  }
  if (!well)
    print('Add instead of changing, or start a new major version. See docs/decisions/023-compatibility.md.');
  return well;
}

function release(print: PrintLine): boolean {
  for (const name of documentNames) {
    const text = render(name);
    writeCommitted(name, text);
    writeReleased(name, text);
  }
  print('openapi/released now contains the current documents. Commit it with the release.');
  return true;
}
