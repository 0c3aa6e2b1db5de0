import visitorModule from '@swc/core/Visitor.js';

const { Visitor } = visitorModule;

type Statement = Parameters<typeof Visitor.prototype.visitStatement>[0];
type Declarators = Parameters<typeof Visitor.prototype.visitVariableDeclarators>[0];

/** The declarators of a `using` statement, which swc's types do not describe; undefined for other statements. */
function usingDeclarators(statement: Statement): Declarators | undefined {
  const { type, decls } = statement as { type: string; decls?: Declarators };
  return type === 'UsingDeclaration' ? decls : undefined;
}

/**
 * swc parses `using file = open()`, but its visitor, which dependency-cruiser uses, throws at that statement. This adds the
 * missing case. The clean fixture contains such a statement, so its test shows when this can be removed.
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
