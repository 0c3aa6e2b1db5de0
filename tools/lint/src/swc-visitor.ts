import visitorModule from '@swc/core/Visitor.js';

const { Visitor } = visitorModule;

type Statement = Parameters<typeof Visitor.prototype.visitStatement>[0];
type Declarators = Parameters<typeof Visitor.prototype.visitVariableDeclarators>[0];

/** What swc's own types do not describe: the declarators of `using`, or undefined for any other statement. */
function usingDeclarators(statement: Statement): Declarators | undefined {
  const { type, decls } = statement as { type: string; decls?: Declarators };
  return type === 'UsingDeclaration' ? decls : undefined;
}

/**
 * swc parses `using file = open()`, but the visitor it ships, by which dependency-cruiser walks the tree, throws
 * at that statement, and one such file would stop the whole cruise. This teaches it the missing case: look into
 * the declarators, as for `const`. The clean fixture has such a statement and so tells when this can go.
 */
export function addUsingSupport(): void {
  const { visitStatement: original } = Visitor.prototype;
  Visitor.prototype.visitStatement = function handleStatement(
    this: InstanceType<typeof Visitor>,
    statement: Statement,
  ) {
    const declarators = usingDeclarators(statement);
    if (!declarators) return original.call(this, statement);
    this.visitVariableDeclarators(declarators);
    return statement;
  };
}
