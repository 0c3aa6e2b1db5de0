import type { ModelEntry } from '@millrace/core/inference';

/**
 * Learns from prompt counts how many tokens the chat templates of engines add. Otherwise each prompt reserves for the largest
 * known template, which is most of a short request's reservation. An engine counts at least its template, so the lowest count for
 * equal roles bounds the template's tokens.
 */
export interface TemplateOverheads {
  /** Null while a deployment of the model has not responded to such a conversation. */
  boundFor(model: Pick<ModelEntry, 'deployments'>, roles: string): number | null;
  learn(deploymentId: string, plain: TextConversation, promptTokens: number): void;
}

/** A conversation with text only, which templates treat alike. */
export interface TextConversation {
  readonly roles: string;
  readonly bytes: number;
}

/** Margin for templates with a date or a message count. */
const spareTokens = 8;
const maxRolePatterns = 64;
const maxDeployments = 2_000;

export function createTemplateOverheads(): TemplateOverheads {
  const learned = new Map<string, Map<string, number>>();
  return {
    boundFor({ deployments }, roles) {
      let bound = 0;
      for (const { id, weight } of deployments) {
        const least = learned.get(id)?.get(roles);
        if (least !== undefined) bound = Math.max(bound, least);
        // A deployment with weight 0 might never respond, so its first count is not required.
        else if (weight > 0) return null;
      }
      return bound === 0 ? null : bound + spareTokens;
    },
    learn(deploymentId, { roles, bytes }, promptTokens) {
      if (promptTokens < 1) return;
      let shapes = learned.get(deploymentId);
      if (shapes === undefined) {
        if (learned.size >= maxDeployments) learned.clear();
        shapes = new Map<string, number>();
        learned.set(deploymentId, shapes);
      }
      const before = shapes.get(roles);
      if (before === undefined && shapes.size >= maxRolePatterns) return;
      // A count above the bound means that the engine has another template now.
      const isOutdated = before !== undefined && promptTokens > bytes + before + spareTokens;
      if (before === undefined || isOutdated || promptTokens < before) shapes.set(roles, promptTokens);
    },
  };
}
