import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export const repositoryRoot = join(import.meta.dirname, '../../../..');

/** Location of one kind of runs: files `<folder>/<name><suffix>`, each with one exported constant. */
export interface DefinitionLocation {
  readonly root: string;
  readonly folder: string;
  readonly suffix: string;
  readonly exportName: string;
}

export function listNames({ root, folder, suffix }: DefinitionLocation): string[] {
  let files: string[];
  try {
    files = readdirSync(join(root, folder));
  } catch {
    // A missing folder contains no runs.
    return [];
  }
  return files
    .filter((file) => file.endsWith(suffix))
    .map((file) => file.slice(0, -suffix.length))
    .toSorted();
}

/** Loads one definition, or lists the existing ones in the error. */
export async function loadDefinition<T extends { readonly name: string }>(
  place: DefinitionLocation,
  name: string,
): Promise<T> {
  const names = listNames(place);
  if (!names.includes(name)) {
    const known = names.length === 0 ? 'none exist yet' : `existing names: ${names.join(', ')}`;
    throw new UsageError(`There is no ${place.folder}/${name}${place.suffix}; ${known}.`);
  }
  const file = join(place.root, place.folder, name + place.suffix);
  const module = (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  const definition = module[place.exportName] as T | undefined;
  if (definition === undefined) {
    throw new UsageError(`${file} exports no constant called "${place.exportName}".`);
  }
  if (definition.name !== name) {
    throw new UsageError(`${file} defines "${definition.name}"; the name must equal the file's name.`);
  }
  return definition;
}

/** A wrong argument. Only the message is printed, because a stack trace would hide it. */
export class UsageError extends Error {}
