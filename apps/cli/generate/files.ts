import { handWrittenCommands, manifestText } from './manifest.ts';
import { generatedOperations, responseFieldsText, tableText } from './operations.ts';

/** The generated files of the CLI, relative to src/. A test compares them with the committed ones. */
export async function generatedFiles(): Promise<Readonly<Record<string, string>>> {
  const handMade = await handWrittenCommands();
  const rows = generatedOperations(
    new Set(handMade.flatMap(({ command }) => command.operations)),
    new Set(handMade.map(({ command }) => command.name)),
  );
  const listed = Object.entries(rows).map(([operation, row]) => ({ ...row, operation }));
  return {
    'manifest.generated.ts': manifestText(handMade, listed),
    'framework/response-fields.generated.ts': responseFieldsText(),
    'generated/operations.generated.ts': tableText(rows),
  };
}
