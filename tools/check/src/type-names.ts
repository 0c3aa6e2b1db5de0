/** A declaration at the beginning of a line, where the formatter puts all that are exported. */
const exportedType = /^export (?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/gm;

const isDeclaring = (file: string): boolean =>
  /\.tsx?$/.test(file) && !/(?:\.test|\.fixture|\.generated|\/fixture)\.tsx?$/.test(file);

/** Names that a package exports for two types, with the files. A package is the first two folders of a path. */
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
