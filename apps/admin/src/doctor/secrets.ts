import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { roles, type Installation } from './installation.ts';

/** Files with these names are secrets. */
export const secretName = /\.(?:key|keys|seed|secret|token|url|password)$|^(?:identity|public)\.pem$/;

/** Shorter texts would also hide usual words. */
const SHORTEST_SECRET = 8;

/** The paths of all secrets in the folder and in its folders. */
export function secretFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && secretName.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name));
  } catch {
    // The findings about the files of settings say more.
    return [];
  }
}

/** Every secret of the installation, also parts of URLs: a message of a library could contain one. */
export function secretsOf(installation: Installation): readonly string[] {
  const inFiles = secretFiles(installation.folder).map(readText);
  const inSettings = roles.flatMap((role) =>
    Object.entries(installation.environment(role)).flatMap(([name, value = '']) =>
      /(?:KEY|KEYS|SECRET|SECRETS|TOKEN|URL|URLS|CREDENTIALS)$/.test(name) ? [value] : [],
    ),
  );
  const passwords = [...inFiles, ...inSettings].flatMap((text) => passwordIn(text.trim()));
  const whole = inFiles.map((text) => text.trim());
  return [...new Set([...whole, ...passwords])].filter((text) => text.length >= SHORTEST_SECRET);
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function passwordIn(text: string): readonly string[] {
  const [, password] = /^\w+:\/\/[^/@:]*:([^/@]+)@/.exec(text) ?? [];
  return password === undefined ? [] : [password, decoded(password)];
}

/** A wrong setting may contain a percent sign that begins no code. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function hideSecrets(text: string, secrets: readonly string[]): string {
  let shown = text;
  for (const secret of secrets) shown = shown.replaceAll(secret, '(secret)');
  return shown;
}
