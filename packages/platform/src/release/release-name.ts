import type { BuildInfo } from './build-info.ts';

const COMMIT_LENGTH = 12;
const pattern = /^\d+\.\d+\.\d+(?:[.-][0-9A-Za-z.-]*)?$/;

/** The name of a release at engines, such as `0.2.0-307b39282919`: two builds of one version differ. */
export function releaseNameOf({ version, commit }: BuildInfo): string {
  return commit === null ? version : `${version}-${commit.slice(0, COMMIT_LENGTH)}`;
}

export const isReleaseName = (text: string): boolean => pattern.test(text);
