// Spark's random forest with HiBench's parameters, in one JVM: java SparkForest.java BYTES_OF_ROWS
// SCRATCH, with Spark's jars on the class path.
//
// Parameters and the distribution of the data are those of HiBench's workload RandomForest
// (conf/workloads/ml/rf.conf); features are a tenth of those of its profile huge, and the number of
// rows follows from their bytes, so that it takes minutes. Rows stay on the heap, where HiBench reads
// them from files: they are what a larger heap has room for.

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.mllib.linalg.Vectors;
import org.apache.spark.mllib.regression.LabeledPoint;
import org.apache.spark.mllib.tree.RandomForest;
import org.apache.spark.mllib.tree.model.RandomForestModel;

public class SparkForest {
    private static final int FEATURES = 20_000;
    private static final int TREES = 100;
    private static final int DEPTH = 4;
    private static final int BINS = 32;
    private static final int CLASSES = 2;
    private static final double DISTANCE = 3;
    private static final double TRAINING = 0.7;
    private static final int SEED = 42;
    private static final List<LabeledPoint> ROWS = new ArrayList<>();

    public static void main(String[] arguments) {
        int rows = (int) Math.max(10, Long.parseLong(arguments[0]) / (8L * FEATURES));
        // Spark's threads find this class, which was compiled as the program began, by its loader.
        Thread.currentThread().setContextClassLoader(SparkForest.class.getClassLoader());
        SparkConf settings = new SparkConf()
                .setMaster("local[*]")
                .setAppName("SparkForest")
                .set("spark.ui.enabled", "false")
                .set("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
                .set("spark.local.dir", arguments[1])
                .set("spark.driver.host", "localhost")
                .set("spark.driver.bindAddress", "127.0.0.1");
        for (int i = 0; i < rows; i++) {
            ROWS.add(row(i));
        }
        try (JavaSparkContext context = new JavaSparkContext(settings)) {
            context.setLogLevel("WARN");
            train(context, (int) (TRAINING * rows));
        }
    }

    private static void train(JavaSparkContext context, int training) {
        List<Integer> numbers = new ArrayList<>();
        for (int i = 0; i < training; i++) {
            numbers.add(i);
        }
        JavaRDD<LabeledPoint> data = context.parallelize(numbers).map(number -> ROWS.get(number));
        long began = System.nanoTime();
        RandomForestModel model = RandomForest.trainClassifier(
                data, CLASSES, Collections.emptyMap(), TREES, "auto", "gini", DEPTH, BINS, SEED);
        System.out.printf("training: %.3f s%n", (System.nanoTime() - began) * 1e-9);
        int wrong = 0;
        for (LabeledPoint row : ROWS.subList(training, ROWS.size())) {
            wrong += model.predict(row.features()) == row.label() ? 0 : 1;
        }
        System.out.printf("rows: %d%n", ROWS.size());
        System.out.printf("test error: %.4f%n", (double) wrong / (ROWS.size() - training));
    }

    private static LabeledPoint row(int number) {
        Random random = new Random(SEED + number);
        double label = number % CLASSES;
        double[] features = new double[FEATURES];
        for (int i = 0; i < FEATURES; i++) {
            features[i] = random.nextGaussian() + label * DISTANCE;
        }
        return new LabeledPoint(label, Vectors.dense(features));
    }
}
