import { dirname } from 'node:path';

/** With more files a reader no longer sees what a folder contains. Tests and fixtures are not counted. */
export const maxSourcesInFolder = 25;

const isSource = (file: string): boolean =>
  /\.tsx?$/.test(file) && !/(?:\.test|\.fixture|^fixture)\.tsx?$/.test(file);

export function crowdedFolders(files: readonly string[], max = maxSourcesInFolder): string[] {
  const folders = Map.groupBy(files.filter(isSource), (file) => dirname(file));
  return [...folders]
    .filter(([, held]) => held.length > max)
    .map(([folder, held]) => `${folder}: ${held.length}`);
}
