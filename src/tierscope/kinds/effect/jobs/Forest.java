// A forest of regression trees over rows on the heap: java Forest.java BYTES_OF_ROWS.
//
// Rows stay reachable; each tree is trained on a sample of them, whose lists are garbage once they
// were split, as in the training of random forests on the JVM.

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

public class Forest {
    private static final int FEATURES = 15;
    private static final int ROW_BYTES = 8 * (FEATURES + 1) + 24;
    private static final int TREES = 12;
    private static final int DEPTH = 8;
    private static final int CANDIDATES = 3;

    private record Node(int feature, double threshold, Node low, Node high, double value) {}

    public static void main(String[] arguments) {
        int rows = (int) Math.max(1000, Long.parseLong(arguments[0]) / ROW_BYTES);
        SplittableRandom random = new SplittableRandom(1);
        List<double[]> data = new ArrayList<>(rows);
        for (int i = 0; i < rows; i++) {
            data.add(row(random));
        }
        double error = 0;
        for (int tree = 0; tree < TREES; tree++) {
            Node root = train(sample(data, random), DEPTH, random);
            error += error(root, data);
        }
        System.out.printf("rows: %d%nmean squared error: %.4f%n", rows, error / TREES);
    }

    private static double[] row(SplittableRandom random) {
        double[] row = new double[FEATURES + 1];
        for (int i = 0; i < FEATURES; i++) {
            row[i] = random.nextDouble();
        }
        row[FEATURES] = row[0] * row[1] + (row[2] > 0.5 ? 1 : 0);
        return row;
    }

    private static List<double[]> sample(List<double[]> data, SplittableRandom random) {
        List<double[]> chosen = new ArrayList<>();
        for (int i = 0; i < data.size() / 4; i++) {
            chosen.add(data.get(random.nextInt(data.size())).clone());
        }
        return chosen;
    }

    private static Node train(List<double[]> rows, int depth, SplittableRandom random) {
        double mean = rows.stream().mapToDouble(row -> row[FEATURES]).average().orElse(0);
        if (depth == 0 || rows.size() < 10) {
            return new Node(-1, 0, null, null, mean);
        }
        int best = -1;
        double threshold = 0;
        double most = -1;
        for (int i = 0; i < CANDIDATES; i++) {
            int feature = random.nextInt(FEATURES);
            double at = random.nextDouble();
            double gain = gain(rows, feature, at, mean);
            if (gain > most) {
                best = feature;
                threshold = at;
                most = gain;
            }
        }
        List<double[]> low = new ArrayList<>();
        List<double[]> high = new ArrayList<>();
        for (double[] row : rows) {
            (row[best] < threshold ? low : high).add(row);
        }
        return new Node(
                best, threshold, train(low, depth - 1, random), train(high, depth - 1, random), mean);
    }

    private static double gain(List<double[]> rows, int feature, double at, double mean) {
        double low = 0;
        int count = 0;
        for (double[] row : rows) {
            if (row[feature] < at) {
                low += row[FEATURES] - mean;
                count++;
            }
        }
        int rest = rows.size() - count;
        return count == 0 || rest == 0 ? 0 : low * low / count + low * low / rest;
    }

    private static double error(Node root, List<double[]> data) {
        double sum = 0;
        for (int i = 0; i < data.size(); i += 10) {
            double[] row = data.get(i);
            Node node = root;
            while (node.feature >= 0) {
                node = row[node.feature] < node.threshold ? node.low : node.high;
            }
            sum += (node.value - row[FEATURES]) * (node.value - row[FEATURES]);
        }
        return sum / (data.size() / 10.0);
    }
}
