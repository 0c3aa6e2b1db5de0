import { dirname } from 'node:path';

/** More files than this and a reader no longer sees what a folder holds. Tests and fixtures stand beside their file. */
export const maxSourcesInFolder = 25;

const isSource = (file: string): boolean =>
  /\.tsx?$/.test(file) && !/(?:\.test|\.fixture|^fixture)\.tsx?$/.test(file);

/** Folders that hold too many source files, with their numbers. */
export function crowdedFolders(files: readonly string[], max = maxSourcesInFolder): string[] {
  const folders = Map.groupBy(files.filter(isSource), (file) => dirname(file));
  return [...folders]
    .filter(([, held]) => held.length > max)
    .map(([folder, held]) => `${folder}: ${held.length}`);
}
