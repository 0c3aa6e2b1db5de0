/** The formatter puts exported declarations at the start of a line. */
const exportedType = /^export (?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/gm;

const isDeclaring = (file: string): boolean =>
  /\.tsx?$/.test(file) && !/(?:\.test|\.fixture|\.generated|\/fixture)\.tsx?$/.test(file);

/** Names that a package exports for two types, with the files. The first two folders of a path are the package. */
export function repeatedTypeNames(
  files: readonly string[],
  read: (file: string) => string,
): readonly string[] {
  const declared = files.filter(isDeclaring).flatMap((file) => {
    const owner = file.split('/').slice(0, 2).join('/');
    return [...read(file).matchAll(exportedType)].map(([, name]) => ({ file, key: `${owner} ${name}` }));
  });
  return [...Map.groupBy(declared, ({ key }) => key)]
    .filter(([, found]) => found.length > 1)
    .map(([key, found]) => `${key}: ${found.map(({ file }) => file).join(', ')}`);
}
